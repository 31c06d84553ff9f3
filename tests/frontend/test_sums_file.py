"""Deployments whose analyst sees sums: a DAP task beside what is accounted for."""

from frontend.certificates import RAPPOR, issued_of, sums
from frontend.edits import caught, outcome, resigned


def test_a_dap_task_is_held_against_what_is_accounted_for(tmp_path):
    dap = '[dap]\nvdaf = "Prio3SumVec"\nbits = 3\nmin_batch_size = 20\n'
    path, content = issued_of(sums(RAPPOR, head='relation = "replace-special"', more=dap))
    assert content["deployment"]["content"]["dap"]["min_batch_size"] == 20
    assert not caught(outcome(content, tmp_path / "certificate.json", deployment=path))
    content["deployment"]["content"]["dap"].update(vdaf="Prio3MultihotCountVec", max_weight=3)
    assert caught(outcome(resigned(content), tmp_path / "certificate.json", deployment=path))


def test_messages_say_nothing_of_a_view():
    _, content = issued_of(sums(RAPPOR).replace('view = "sums"\n', ""))
    assert not {"view", "ones", "relation"} & set(content["deployment"]["content"])
