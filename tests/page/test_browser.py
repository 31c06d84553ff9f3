"""The pages in a real browser: `make test-page`, with Debian's Chromium and its driver."""

import json
import shlex
import threading

import pytest
from click.testing import CliRunner

import shuffledp as sd
from page.browser import chromium
from shuffledp.cli import main
from shuffledp.cli.text import end_text
from shuffledp.page.server import PageServer

pytestmark = [pytest.mark.page, pytest.mark.filterwarnings("ignore::ResourceWarning")]
core = pytest.mark.core  # in half a minute: what `make test` runs where there is a browser


@pytest.fixture(scope="module")
def url():
    server = PageServer(0)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.url
    server.shutdown()
    server.server_close()


@pytest.fixture
def browser(tmp_path):
    with chromium(tmp_path / "profile") as driver:
        yield driver
        assert complaints(driver) == []


def complaints(driver):
    """What the console holds against the page: scripts' errors, the policy's refusals.

    Not that a reply was a refusal: the page says that itself.
    """
    found = driver.get_log("browser")
    return [e["message"] for e in found if e["level"] == "SEVERE" and e["source"] != "network"]


def until(driver, condition, seconds=60):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, seconds, 0.02).until(condition)


def settled(driver):
    """Wait for the certified answer to what the form holds now; the bracket as it is shown."""
    until(driver, lambda d: d.find_element("id", "answer").get_attribute("data-done"))
    return tuple(driver.find_element("id", key).text for key in ("lower", "upper"))


def printed(driver):
    """What the command line gives for the command that the page shows."""
    command = driver.find_element("id", "command").get_attribute("textContent")
    found = CliRunner().invoke(main, shlex.split(command)[1:])
    assert found.exit_code == 0, found.output
    low, word, high = found.stdout.split(" nats")[0].split(" <= ")
    assert word == "eps"
    assert driver.find_element("id", "text").get_attribute("textContent") + "\n" == found.stdout
    return low, high


def typed(driver, key, text):
    field = driver.find_element("id", key)
    field.clear()
    field.send_keys(text)


@core
def test_type_and_read_the_command_line_s_number(browser, url):
    from selenium.webdriver.common.keys import Keys

    browser.get(url)
    assert settled(browser) == printed(browser)
    typed(browser, "p-k", "50")
    typed(browser, "p-eps0", "4")
    typed(browser, "n", "285000")
    typed(browser, "delta", "1e-8")
    bound = sd.shuffle(sd.KRR(k=50, eps0=4.0), n=285_000).epsilon(delta=1e-8)
    first = tuple(end_text(bound, up=up, digits=8) for up in (False, True))
    assert settled(browser) == printed(browser) == first
    # The slider moves by keys as well: n of two digits, and its number is the command line's.
    slider = browser.find_element("id", "n-slider")
    slider.send_keys(Keys.ARROW_RIGHT * 20)
    before = settled(browser)
    n = browser.find_element("id", "n").get_attribute("value")
    assert float(n) > 285_000
    assert before == printed(browser)
    assert before != first
    # Its address holds the form: another page shows the same.
    address = browser.current_url
    assert f"n={n}" in address
    browser.get("about:blank")
    browser.get(address)
    assert settled(browser) == before


@core
def test_what_is_saved_is_what_account_writes(browser, url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    browser.get(url + "?mechanism=k-rr&k=3&eps0=1&n=100&delta=1e-2&trust=published")
    settled(browser)
    assert not browser.find_element("id", "ones-row").is_displayed()  # asked of sums alone
    saved = {}
    for key, name in (
        ("save", "deployment.toml"),
        ("save-report", "report.html"),
        ("save-certificate", "deployment.certificate.json"),
    ):
        until(browser, lambda d, key=key: d.find_element("id", key).is_enabled())
        browser.find_element("id", key).click()
        until(browser, lambda _, name=name: (tmp_path / name).exists())
        saved[name] = (tmp_path / name).read_text(encoding="utf-8")
    assert browser.find_element("id", "report-state").text.startswith("Certified: eps <= ")
    found = CliRunner().invoke(
        main, ["account", "deployment.toml", "--json", "--report", "again.html"]
    )
    assert found.exit_code == 0, found.output
    assert saved["report.html"] == (tmp_path / "again.html").read_text(encoding="utf-8")
    assert json.loads(saved["deployment.certificate.json"]) == json.loads(found.stdout)
    verified = CliRunner().invoke(
        main, ["verify", "deployment.certificate.json", "--deployment", "deployment.toml"]
    )
    assert verified.exit_code == 0, verified.output


@core
def test_everything_has_a_name_and_can_be_reached_by_keys(browser, url):
    from selenium.webdriver.common.keys import Keys

    browser.get(url)
    settled(browser)
    reached = []
    for _ in range(30):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.switch_to.active_element.get_attribute("id"))
    wanted = ["mechanism", "p-k", "p-eps0", "p-eps0-slider", "n", "n-slider", "delta", "rounds"]
    assert [key for key in dict.fromkeys(reached) if key in wanted] == wanted
    # What is asked of sums alone has to have a name as well.
    browser.execute_script("document.querySelectorAll('[hidden]').forEach((e) => e.hidden = false)")
    for field in browser.find_elements("css selector", "input, select, textarea, button"):
        assert field.accessible_name, field.get_attribute("id")
    live = browser.find_element("id", "live")
    assert live.get_attribute("aria-live") == "polite"
