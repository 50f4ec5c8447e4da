"""The pictures of the site are those of the figures beside them."""

from compiler_gym.util.runfiles_path import runfiles_path
from docs.sphinx import pictures

FOLDER = runfiles_path("docs/pictures")


def test_the_same_figures_give_the_same_bytes(tmp_path):
    pictures.draw_all(FOLDER, tmp_path)
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert len(drawn) == len(pictures.CHARTS) + len(pictures.DIAGRAMS) + 1
    for name in drawn:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name


def test_no_picture_fetches_anything():
    text = (FOLDER / "demo.svg").read_text(encoding="utf-8")
    assert "url(" not in text.replace("url(#", "")
