"""``shuffledp registry``: an entry for the public registry of deployments, from a certificate."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click

from shuffledp.cli.extras import load_certificate
from shuffledp.cli.mechanisms import mechanism_label
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, unreadable
from shuffledp.review.registry import check_file_name, registry_entry


@click.command(short_help="An entry for the public registry of deployments.")
@click.argument("file", metavar="CERTIFICATE.json")
@click.option("--out", metavar="FILE.yaml", help="Where to write it.  [default: stdout]")
def registry(file: str, out: str | None) -> None:
    """Write what a certificate says as an entry for registry.opendp.org.

    The guarantee, unit, neighbours, model, trust assumptions, mechanism and theorems are the
    certificate's; who publishes what, where, when and why is left to fill in. The certificate is
    read, not verified: `shuffledp verify` does that.
    """
    certificates = load_certificate()
    if out is not None:
        check_file_name(Path(out).name, "out")
    with files_written([("out", out)], inputs=[file]) as held:
        certificate = certificates.read(file)
        try:
            digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        except OSError as error:
            raise ParameterError(f"certificate {file!r}: {unreadable(error)}") from None
        text = registry_entry(
            certificate,
            label=mechanism_label(certificate.deployment.content.randomizer),
            certificate_file=Path(file).name,
            certificate_sha256=digest,
        )
        if out is not None:
            held.write(out, text)
    if out is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"wrote {out}")
