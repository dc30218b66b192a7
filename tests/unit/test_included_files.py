"""Names of included files: as they are written, and by macros."""

from pathlib import Path

import pytest

from cltrace.intercept.objects.includes import find_included_files

FORMS = {
    '"given.h"': "",
    "<given.h>": "",
    "GIVEN": '-DGIVEN="given.h"',
    "OTHER": "-D OTHER=GIVEN -D GIVEN=<given.h>",
    "TEXT_OF(PLACE/given.h)": "-D PLACE={} -D 'NAME(x)=#x' -DTEXT_OF(x)=NAME(x)",
    "TEXT_OF( PLACE/sub/../given.h )": "-DPLACE={} -DTEXT_OF(x)=#x",
}
"""Operands of a directive, and the build's options."""


@pytest.mark.parametrize("operand", FORMS)
def test_a_file_is_found_by_any_form_of_its_name(operand: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "given.h").write_text("int given;\n")
    options = FORMS[operand].format(tmp_path).replace('"', '\\"')
    found = find_included_files(f"#include {operand}\n", f"-I {tmp_path} {options}")
    assert list(found.values()) == ["int given;\n"]


def test_macros_of_a_text_name_files_of_the_texts_that_it_includes(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text("  #  include BELOW\n")
    (tmp_path / "b.h").write_text("#define BELOW <never.h>\n")
    found = find_included_files('#define BELOW "b.h"\n#include "a.h"', f"-I{tmp_path}")
    assert list(found) == ["a.h", "b.h"]


def test_a_macro_that_names_itself_ends() -> None:
    assert not find_included_files("#include A\n#include B(A)\n", "-DA=A/A -DB")
