"""Text of a module's metadata: escaped bytes are UTF-8, as the names of files are."""

import pytest

from cltrace.kernels.ir.metadata import Metadata
from cltrace.kernels.ir.tokens import decoded_text, symbol_name

MODULE = r"""
!0 = !DIFile(filename: "headers/w\C3\B6rk \E2\98\83.h", directory: "/")
!1 = distinct !DISubprogram(name: "f", scope: !0, file: !0, line: 3)
!2 = !DILocation(line: 4, column: 5, scope: !1)
!3 = !{!"h\C3\A4l", !"b"}
"""


def test_names_of_files_keep_their_letters() -> None:
    place = Metadata(MODULE, lambda name: name).place("2")
    assert (place.file, place.line) == ("headers/wörk ☃.h", 4)


def test_names_of_arguments_keep_their_letters() -> None:
    facts = Metadata(MODULE, str).kernel_facts("!kernel_arg_name !3")
    assert facts.names == ("häl", "b")


@pytest.mark.parametrize(
    ("text", "decoded"),
    [("plain", "plain"), (r"w\C3\B6rk", "wörk"), (r"a\22b\5Cc", 'a"b\\c'), (r"\FF", "\udcff")],
)
def test_symbols_and_metadata_decode_alike(text: str, decoded: str) -> None:
    assert decoded_text(text) == decoded
    assert symbol_name(f'@"{text}"') == decoded
