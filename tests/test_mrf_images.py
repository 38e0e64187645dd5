"""Lists of images: what graphs they are, and what is refused in one line."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from lssvm.applications.base import Formulation, Source
from lssvm.applications.mrf.graphs import packed
from lssvm.applications.mrf.mrf import MarkovRandomField, MrfOptions
from lssvm.cli import classify, learn
from lssvm.errors import DataError, MissingExtraError
from lssvm.formats import images
from lssvm.formats.image_list import Grid, as_graphs, read_images
from lssvm.formats.limit import Limit
from lssvm.formats.mrf_text import MISSING

RED, GREEN, DARK, BLACK = (255, 0, 0), (0, 255, 0), (0, 128, 0), (0, 0, 0)
HEAD = "label sky 255 0 0\nlabel tree 0 255 0\nlabel tree 0 128 0\nmissing 0 0 0\n"
GOOD = "# two kinds of trees\n" + HEAD + "image a.png a-labels.png cost=0.5\nimage b.png -\n"
LABELS = [[RED, GREEN, BLACK], [DARK, RED, RED]]
STATES = [[0, 1, MISSING], [1, 0, 0]]


def encoded(pixels, kind="PNG", mode=None):
    """An image file of an array."""
    image = Image.fromarray(np.array(pixels, dtype=np.uint8))
    file = io.BytesIO()
    (image.convert(mode) if mode else image).save(file, kind)
    return file.getvalue()


def with_palette(indices, colours):
    """A PNG file of indices into a table of colours."""
    image = Image.fromarray(np.array(indices, dtype=np.uint8), "P")
    image.putpalette(np.ravel(colours).tolist())
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def photograph(rng, height=2, width=3):
    return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A list of an image with labels and one without."""
    rng = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.png").write_bytes(encoded(photograph(rng)))
    (tmp_path / "b.png").write_bytes(encoded(photograph(rng, 1, 2)))
    (tmp_path / "a-labels.png").write_bytes(encoded(LABELS))
    (tmp_path / "x.images").write_text(GOOD)
    return tmp_path


def test_a_pixel_is_a_node_and_neighbours_are_joined(folder):
    found = read_images("x.images")
    assert found.names == ("a.png", "b.png")
    assert found.costs[0] == 0.5
    assert np.isnan(found.costs[1])
    assert found.lines.tolist() == [6, 7]
    assert found.node_offsets.tolist() == [0, 6, 8]
    assert found.edge_offsets.tolist() == [0, 7, 8]
    assert found.node_names == ["0,0", "1,0", "2,0", "0,1", "1,1", "2,1", "0,0", "1,0"]
    assert set(found.node_classes) == {"pixel"}
    assert found.states.tolist() == [2] * 8
    assert found.labels.tolist() == [*np.ravel(STATES), MISSING, MISSING]
    assert found.edge_classes == ["right"] * 4 + ["down"] * 3 + ["right"]
    right, down = [[0, 1], [1, 2], [3, 4], [4, 5]], [[0, 3], [1, 4], [2, 5]]
    assert found.ends.tolist() == [*right, *down, [0, 1]]


def dense(features):
    rows = np.zeros((len(features.starts) - 1, int(features.indices.max()) + 1))
    rows[np.repeat(np.arange(len(rows)), np.diff(features.starts)), features.indices] = (
        features.values
    )
    return rows


def test_features_are_channels_and_their_differences(folder):
    found = read_images("x.images")
    pixels = np.asarray(Image.open("a.png")) / 255
    nodes, edges = dense(found.node_features), dense(found.edge_features)
    np.testing.assert_array_equal(nodes[:, 0], 1.0)
    np.testing.assert_array_equal(nodes[:6, 1:], pixels.reshape(6, 3))
    np.testing.assert_array_equal(edges[:, 0], 1.0)
    for edge, (first, second) in enumerate(found.ends[:7]):
        expected = np.abs(nodes[first, 1:] - nodes[second, 1:]).mean()
        assert edges[edge, 1] == pytest.approx(expected, abs=1e-15)


def test_zeros_among_the_features_are_not_stored():
    channels = np.array([[[0.0, 2.0], [3.0, 0.0]]])
    found = as_graphs([Grid("a", channels, np.zeros((1, 2), dtype=int))], 2)
    assert found.node_features.starts.tolist() == [0, 2, 4]
    assert found.node_features.indices.tolist() == [0, 2, 0, 1]
    assert found.node_features.values.tolist() == [1.0, 2.0, 1.0, 3.0]
    assert found.edge_features.values.tolist() == [1.0, 2.5]


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1)])
def test_images_may_be_one_pixel_wide_or_high(shape):
    grid = Grid("a", np.ones((*shape, 2)), np.arange(shape[0] * shape[1]).reshape(shape))
    found = as_graphs([grid], 4)
    pixels = shape[0] * shape[1]
    chain = [[k, k + 1] for k in range(pixels - 1)]
    assert found.ends.reshape(-1, 2).tolist() == chain
    assert found.edge_features.starts.tolist() == list(range(pixels))
    application = MarkovRandomField(MrfOptions(initialisation="zero"), Formulation("mssvm"))
    examples = packed([(Source("a"), found)])
    plane, upper = application.augmented(np.zeros(application.dimension(examples)), examples)
    assert upper == plane.value(np.zeros(application.dimension(examples))) == pixels


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("palette", with_palette([[3, 1, 0], [2, 3, 3]], [BLACK, GREEN, DARK, RED])),
        ("opaque alpha", encoded(LABELS, mode="RGBA")),
        ("bmp", encoded(LABELS, "BMP")),
        ("gif", encoded(LABELS, "GIF")),
        ("ppm", encoded(LABELS, "PPM")),
        ("tiff", encoded(LABELS, "TIFF")),
    ],
)
def test_every_lossless_kind_of_label_image_has_the_same_labels(folder, name, content):
    (folder / "a-labels.png").write_bytes(content)
    assert read_images("x.images").labels[:6].tolist() == list(np.ravel(STATES))


def test_grey_label_images_have_colours_of_three_equal_numbers(folder):
    (folder / "a-labels.png").write_bytes(encoded([[0, 7, 7], [9, 9, 9]]))
    text = "label seven 7 7 7\nlabel nine 9 9 9\nmissing 0 0 0\nimage a.png a-labels.png\n"
    (folder / "x.images").write_text(text)
    assert read_images("x.images").labels.tolist() == [MISSING, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("mode", "channels"), [("1", 1), ("L", 1), ("LA", 1), ("P", 3), ("RGB", 3), ("RGBA", 3)]
)
def test_images_of_every_mode_have_channels_from_0_to_1(folder, mode, channels):
    rng = np.random.default_rng(1)
    pixels = photograph(rng, 5, 4)
    pixels[0, :2] = [[0, 0, 0], [255, 255, 255]]
    (folder / "c.png").write_bytes(encoded(pixels, mode=mode))
    found = images.read_channels("c.png")
    assert found.shape == (5, 4, channels)
    assert (found.min(), found.max()) == (0.0, 1.0)


def test_sixteen_bits_of_grey_are_kept(folder):
    Image.fromarray(np.array([[0, 1, 65535]], dtype=np.uint16)).save("c.png")
    np.testing.assert_array_equal(images.read_channels("c.png"), [[[0.0], [1 / 65535], [1.0]]])


def test_features_of_an_array_are_taken_as_they_are(folder):
    rng = np.random.default_rng(2)
    array = rng.normal(size=(2, 3, 4))
    np.save("a.npy", array)
    (folder / "x.images").write_text(HEAD + "image a.npy a-labels.png\n")
    found = read_images("x.images")
    np.testing.assert_array_equal(dense(found.node_features)[:, 1:], array.reshape(6, 4))
    np.save("a.npy", array[:, :, 0].astype(np.float32))
    flat = dense(read_images("x.images").node_features)
    np.testing.assert_array_equal(flat[:, 1], array[:, :, 0].astype(np.float32).ravel())


@pytest.mark.parametrize("spoil", [
    lambda text: text.encode(),
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: b"\xef\xbb\xbf" + text.encode(),
    lambda text: text.rstrip("\n").encode(),
    lambda text: text.replace(" ", "\t").encode(),
    lambda text: text.replace("\n", "\n\n").encode(),
    lambda text: gzip.compress(text.encode()),
    lambda text: bz2.compress(text.encode()),
    lambda text: lzma.compress(text.encode()),
])  # fmt: skip
def test_line_ends_marks_and_compression_do_not_matter(spoil, folder):
    (folder / "y.images").write_bytes(spoil(GOOD))
    first, second = read_images("x.images"), read_images("y.images")
    assert first.names == second.names
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.node_features.values, second.node_features.values)


def test_names_with_blanks_stand_between_tabs(folder):
    (folder / "my a.png").write_bytes((folder / "a.png").read_bytes())
    text = HEAD.replace(" ", "\t").replace("sky", "blue sky") + "image\tmy a.png\ta-labels.png\n"
    (folder / "x.images").write_text(text)
    assert read_images("x.images").names == ("my a.png",)


LINE = "image a.png a-labels.png\n"
BROKEN_LISTS = {
    "": ": no images; expected lines 'image FILE LABELS'",
    HEAD: ": no images; expected lines 'image FILE LABELS'",
    "picture a.png -\n": ":1: 'picture' cannot begin a line; expected label, missing or image",
    "label sky\n": ":1: 1 word follows 'label'; expected 'label NAME R G B'",
    "label 255 0 0\n": ":1: 3 words follow 'label'; expected 'label NAME R G B'",
    "missing 0 0\n": ":1: 2 words follow 'missing'; expected 'missing R G B'",
    "label sky 256 0 0\n": ":1: part of a colour '256' is out of range; expected 0 to 255",
    "label sky -1 0 0\n": ":1: part of a colour '-1' is not a whole number; expected 0 to 255",
    "label sky 1.5 0 0\n": ":1: part of a colour '1.5' is not a whole number; expected 0 to 255",
    "label sky ff 0 0\n": ":1: part of a colour 'ff' is not a whole number; expected 0 to 255",
    "label sky 0 0 ²\n": ":1: part of a colour '²' is not a whole number; expected 0 to 255",
    "label a 1 2 3\nlabel b 1 2 3\n": ":2: the colour 1 2 3 is given twice; expected different "
    "ones",
    "label a 1 2 3\nmissing 1 2 3\n": ":2: the colour 1 2 3 is given twice; expected different "
    "ones",
    "image a.png -\n": ":1: no label is defined above this image; expected lines 'label NAME R G "
    "B'",
    "missing 0 0 0\n"
    + LINE: ":2: no label is defined above this image; expected lines 'label NAME R G B'",
    HEAD + "image a.png\n": ":5: 1 word follows 'image'; expected 'image FILE LABELS [cost=C]'",
    HEAD + "image a.png - cost=1 2\n": ":5: 4 words follow 'image'; expected 'image FILE LABELS "
    "[cost=C]'",
    "label\t\t1\t2\t3\n": ":1: a word that follows 'label' is empty; expected 'label NAME R G B'",
    "label\t \t1\t2\t3\n": ":1: a word that follows 'label' is empty; expected 'label NAME R G B'",
    HEAD + "image\t\t-\n": ":5: a word that follows 'image' is empty; expected 'image FILE LABELS "
    "[cost=C]'",
    HEAD + "image\ta.png\t\n": ":5: a word that follows 'image' is empty; expected 'image FILE "
    "LABELS [cost=C]'",
    HEAD + "image\ta.png\t-\t\n": ":5: a word that follows 'image' is empty; expected 'image FILE "
    "LABELS [cost=C]'",
    HEAD + "image a.png - 2\n": ":5: '2' is not a cost; expected one such as cost=0.5",
    HEAD + "image a.png - cost=-1\n": ":5: cost '-1' is negative; expected at least 0",
    HEAD + "image a.png - cost=nan\n": ":5: cost 'nan' is not finite; expected a finite number",
    HEAD + LINE + "label c 9 9 9\n": ":6: a colour is defined below an image; expected all colours "
    "above",
    HEAD + LINE + LINE: ":6: the image a.png is given twice; expected different ones",
    HEAD + LINE + "image grey.png -\n": ":6: grey.png has 1 channel; expected 3, as a.png",
}


def refusal(content):
    """What stops training on a list, without its ``error: ``; nothing is written."""
    Path("x.images").write_bytes(content.encode() if isinstance(content, str) else content)
    Path("c.yaml").write_text("application: {name: mrf}\ndata: {train: x.images}\n")
    result = CliRunner().invoke(learn, ["c.yaml", "m", "-q"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert not Path("m").exists()
    return result.stderr.removeprefix("error: ")


@pytest.mark.parametrize("text", BROKEN_LISTS)
def test_a_broken_list_stops_training_in_one_line_with_its_place(text, folder):
    (folder / "grey.png").write_bytes(encoded([[0, 7, 7], [9, 9, 9]]))
    assert refusal(text) == f"x.images{BROKEN_LISTS[text]}\n"


@pytest.mark.parametrize(
    "content",
    [b"label \xff 0 0 0\n", gzip.compress(GOOD.encode() * 9, mtime=0)[:40], bytes(100)],
    ids=["not UTF-8", "cut gzip", "zeros"],
)
def test_a_list_that_is_no_text_is_refused(content, folder):
    assert refusal(content).startswith("x.images:")


PNG = encoded(LABELS)
UNKNOWN = "is not an image in a known format; expected PNG, BMP, GIF, PPM, TIFF, JPEG, WEBP"
BROKEN_LABELS = {
    "missing file": (None, "cannot be read: No such file or directory; expected an image"),
    "empty": (b"", UNKNOWN),
    "text": (b"label sky 0 0 0\n", UNKNOWN),
    "zeros": (bytes(500), UNKNOWN),
    "magic alone": (PNG[:8], UNKNOWN),
    "cut in the header": (PNG[:20], "is cut short or damaged; expected an image"),
    "cut in the pixels": (PNG[:-25], "is cut short or damaged; expected an image"),
    "damaged pixels": (
        PNG.replace(b"IDAT", b"IDAT\0\0\0\0")[: len(PNG)],
        "is cut short or damaged; expected an image",
    ),
    "jpeg": (
        encoded(LABELS, "JPEG"),
        "is JPEG, which changes colours; expected PNG, BMP, GIF, PPM, TIFF",
    ),
    "webp": (
        encoded(LABELS, "WEBP"),
        "is WEBP, which changes colours; expected PNG, BMP, GIF, PPM, TIFF",
    ),
    "cmyk": (
        encoded(LABELS, "TIFF", "CMYK"),
        "has pixels of mode 'CMYK'; expected 8 bits, or a palette",
    ),
    "a smaller one": (encoded([LABELS[0]]), "is 3 x 1 pixels; expected 3 x 2, as a.png"),
    "rows and columns exchanged": (
        encoded(np.swapaxes(LABELS, 0, 1)),
        "is 2 x 3 pixels; expected 3 x 2, as a.png",
    ),
    "an unknown colour": (
        encoded([[RED, RED, RED], [RED, RED, (1, 2, 3)]]),
        "pixel 2,1 has the colour 1 2 3; expected one named in x.images",
    ),
    "an unknown grey": (
        encoded([[0, 0, 7], [0, 0, 0]]),
        "pixel 2,0 has the colour 7 7 7; expected one named in x.images",
    ),
    "a transparent pixel": (
        encoded([[(*RED, 255), (*RED, 254), (*RED, 255)]] * 2),
        "pixel 1,0 is transparent; expected opaque colours",
    ),
    "too large": (
        encoded(np.zeros((1000, 1001))),
        "has 1001 x 1000 pixels; expected at most 1,000,000, or features of patches",
    ),
}


@pytest.mark.parametrize("name", BROKEN_LABELS)
def test_a_broken_label_image_stops_training_in_one_line_with_its_name(name, folder):
    content, expected = BROKEN_LABELS[name]
    (folder / "a-labels.png").unlink()
    if content is not None:
        (folder / "a-labels.png").write_bytes(content)
    assert refusal(GOOD) == f"a-labels.png: {expected}\n"


def array_file(array, **options):
    file = io.BytesIO()
    np.save(file, np.array(array, **options))
    return file.getvalue()


BROKEN_ARRAYS = {
    "missing file": (None, "cannot be read: No such file or directory; expected an array .npy"),
    "empty": (b"", "is cut short or damaged; expected an array .npy"),
    "text": (b"1 2 3\n", "is cut short or damaged; expected an array .npy"),
    "cut short": (
        array_file(np.zeros((2, 3)))[:-8],
        "claims 6 entries of 8 bytes and has 40 bytes; expected as many as it claims",
    ),
    "objects": (
        array_file([[{}, {}]], dtype=object),
        "holds object; expected plain numbers or text",
    ),
    "words": (array_file([["a", "b"]]), "holds <U1; expected numbers"),
    "complex": (array_file([[1j]]), "holds complex128; expected plain numbers or text"),
    "a vector": (
        array_file([1.0, 2.0]),
        "has shape (2,); expected (height, width) or (height, width, features)",
    ),
    "nothing": (
        array_file(np.zeros((0, 3))),
        "has shape (0, 3); expected (height, width) or (height, width, features)",
    ),
    "not a number": (
        array_file([[0.0, 1.0, np.nan], [0.0, 0.0, 0.0]]),
        "a feature of pixel 2,0 is not finite; expected numbers",
    ),
}


@pytest.mark.parametrize("name", BROKEN_ARRAYS)
def test_broken_features_stop_training_in_one_line_with_their_name(name, folder):
    content, expected = BROKEN_ARRAYS[name]
    if content is not None:
        (folder / "a.npy").write_bytes(content)
    assert refusal(HEAD + "image a.npy a-labels.png\n") == f"a.npy: {expected}\n"


def test_a_decompression_bomb_is_refused(folder, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 4)  # above it a warning, above twice an error
    assert "has a great many pixels" in refusal(GOOD)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2)
    assert "has a great many pixels" in refusal(GOOD)


def test_without_pillow_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"Pillow; install it with: pip install 'lssvm"):
        read_images("x.images")


def test_an_image_without_labels_cannot_be_trained_on_but_is_labelled(folder):
    rng = np.random.default_rng(3)
    truth = np.repeat([[0, 1]], 4, axis=0).repeat(3, axis=1)
    for name in ("a", "b"):
        grey = (40 + 160 * truth + rng.integers(-40, 41, truth.shape)).astype(np.uint8)
        (folder / f"{name}.png").write_bytes(encoded(grey))
    colours = np.array([RED, GREEN], dtype=np.uint8)[truth]
    colours[rng.random(truth.shape) < 0.5] = BLACK
    (folder / "a-labels.png").write_bytes(encoded(colours))
    (folder / "x.images").write_text(HEAD + "image a.png a-labels.png\n")
    (folder / "y.images").write_text(HEAD + "image b.png -\n")
    (folder / "c.yaml").write_text(
        "application: {name: mrf}\ndata: {train: x.images, test: y.images}\n"
        "objective: {model: mssvm, C: 1}\nsolver: {epsilon: 0.01}\n"
    )
    assert CliRunner().invoke(learn, ["c.yaml", "m", "-q"]).exit_code == 0
    assert CliRunner().invoke(classify, ["y.images", "m", "p"]).exit_code == 0
    rows = [line.split("\t") for line in (folder / "p").read_text().splitlines()]
    assert rows[0] == ["graph", "node", "label"]
    assert [row[1] for row in rows[1:]] == [f"{x},{y}" for y in range(4) for x in range(6)]
    assert [int(row[2]) for row in rows[1:]] == truth.ravel().tolist()


def test_missing_pixels_are_not_counted_in_the_loss(folder):
    application = MarkovRandomField(MrfOptions(), Formulation("mssvm"))
    (folder / "x.images").write_text(HEAD + LINE)
    examples = application.read([Source("x.images")])
    predictions = application.predict(np.zeros(application.dimension(examples)), examples)
    assert predictions.states.tolist() == [0] * 6
    assert application.losses(examples, predictions).tolist() == [2.0]
    assert application.score(examples, predictions)["missing"] == 1


def test_classes_of_states_must_agree_between_lists(folder):
    application = MarkovRandomField(MrfOptions())
    application.read([Source("x.images")])
    (folder / "y.images").write_text("label sky 255 0 0\nimage b.png -\n")
    with pytest.raises(
        DataError, match=r"y\.images: the labels are sky; expected sky, tree, as before"
    ):
        application.read([Source("y.images")])


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 3 2\n%%EndComments\nshowpage\n"
FOREIGN = {
    "eps": EPS,
    "wmf": b"\xd7\xcd\xc6\x9a\0\0" + bytes(16) + b"\x01\x00\x09\x00\x00\x03" + bytes(64),
    "psd": b"8BPS\0\1" + bytes(6) + b"\0\3\0\0\0\2\0\0\0\3\0\x08\0\3" + bytes(64),
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="3" height="2"/>',
    "pdf": b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n",
    "ico": encoded(LABELS, "ICO"),
    "tga": encoded(LABELS, "TGA"),
    "pcx": encoded(LABELS, "PCX"),
}
HOOKED = """
import sys
from pathlib import Path
from PIL import Image
from lssvm.errors import DataError
from lssvm.formats.images import read_channels, read_colours

started = []
programs = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork")
sys.addaudithook(lambda event, arguments: started.append(event) if event in programs else None)
for path in sorted(Path().glob("foreign-*.png")):
    for read in (read_channels, read_colours):
        try:
            read(path)
        except DataError as error:
            print(error)
assert not started, started
try:
    Image.open("foreign-eps.png").load()
except OSError:
    pass
assert started
"""


def test_files_of_other_kinds_start_no_program_whatever_they_are_called(folder):
    for kind, content in FOREIGN.items():
        (folder / f"foreign-{kind}.png").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", HOOKED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines == [f"foreign-{kind}.png: {UNKNOWN}" for kind in sorted(FOREIGN) for _ in "12"]


@pytest.mark.parametrize("kind", images.FORMATS)
def test_every_kind_that_is_read_is_told_by_its_content(kind, folder):
    (folder / "x.eps").write_bytes(encoded(LABELS, kind))
    assert images.read_channels("x.eps").shape == (2, 3, 3)


def test_the_documentation_names_the_kinds_that_are_read():
    page = Path(images.__file__).parents[2] / "docs" / "reference" / "files.md"
    readme = " ".join(page.read_text(encoding="utf-8").split())
    assert "Label images are PNG, BMP, GIF, PPM and TIFF" in readme
    assert "Other images may also be JPEG and WEBP" in readme
    assert images.FORMATS == ("PNG", "BMP", "GIF", "PPM", "TIFF", "JPEG", "WEBP")


def saved(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["GIF", "PNG", "TIFF", "WEBP"])
def test_a_file_of_several_images_is_refused(kind, folder):
    first, second = (Image.fromarray(np.full((2, 3, 3), k, dtype=np.uint8)) for k in (0, 200))
    (folder / "a.png").write_bytes(saved(first, kind, save_all=True, append_images=[second]))
    message = "a.png: contains several images; expected one image per file"
    assert refusal(GOOD) == message + "\n"


def test_the_copies_behind_a_photograph_are_passed_over(folder):
    image = Image.fromarray(np.full((2, 3, 3), 100, dtype=np.uint8))
    copies = saved(image, "MPO", save_all=True, append_images=[image.resize((1, 1))])
    (folder / "a.jpg").write_bytes(copies)
    assert images.read_channels("a.jpg").shape == (2, 3, 3)
    with pytest.raises(DataError, match=r"a\.jpg: is JPEG, which changes colours"):
        images.read_colours("a.jpg")


def test_grey_values_of_16_bits_are_kept_in_every_kind(folder):
    grey = np.array([[0, 1000], [40000, 65535]], dtype=np.uint16)
    for kind in ("PNG", "TIFF", "PPM"):
        (folder / "x").write_bytes(saved(Image.fromarray(grey), kind))
        np.testing.assert_array_equal(images.read_channels("x")[:, :, 0], grey / 65535)


def test_what_pillow_warns_of_is_no_matter_of_pixels(folder):
    palette = Image.fromarray(np.array(LABELS, dtype=np.uint8)).quantize(4)
    (folder / "x").write_bytes(saved(palette, "PNG", transparency=bytes([255] * 4)))
    with Image.open("x") as image, pytest.warns(UserWarning, match="Transparency"):
        image.convert("RGB")
    np.testing.assert_array_equal(images.read_channels("x") * 255, LABELS)  # warnings are errors
    tiff = bytearray(saved(Image.fromarray(np.array(LABELS, dtype=np.uint8)), "TIFF", dpi=(72, 72)))
    place = int.from_bytes(tiff[4:8], "little") + 2
    while tiff[place : place + 2] != (296).to_bytes(2, "little"):
        place += 12
    tiff[place + 4] = 2  # entries where one is expected
    (folder / "x").write_bytes(tiff)
    with pytest.warns(UserWarning, match="too many entries"):
        Image.open("x").close()
    np.testing.assert_array_equal(images.read_channels("x") * 255, LABELS)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "BMP", "PPM", "WEBP"])
def test_half_an_image_is_refused_and_nothing_else_is_said(kind, folder, capfd):
    rng = np.random.default_rng(0)
    content = encoded(photograph(rng, 60, 60), kind)
    (folder / "a.png").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"a\.png: is (cut short or damaged|no image of a kind)"):
        images.read_channels("a.png")
    assert capfd.readouterr() == ("", "")


def test_faults_in_packed_tiff_files_are_ours_to_tell(folder, capfd):
    image = Image.fromarray(np.array(LABELS * 20, dtype=np.uint8))
    for compression in ("tiff_lzw", "tiff_adobe_deflate"):
        content = bytearray(saved(image, "TIFF", compression=compression))
        content[8:20] = b"\xff" * 12
        (folder / "a.png").write_bytes(content)
        with pytest.raises(DataError, match="is cut short or damaged"):
            images.read_colours("a.png")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["a.png", "a.npy"])
def test_a_pipe_or_a_device_is_no_image(name, folder):
    (folder / "a.png").unlink()
    os.mkfifo(name)
    assert "is not a regular file; expected " in refusal(HEAD + f"image {name} -\n")
    assert "is not a regular file; expected " in refusal(HEAD + "image /dev/zero -\n")


def test_links_to_images_are_images(folder):
    (folder / "link.png").symlink_to("a.png")
    (folder / "x.images").write_text(HEAD + "image link.png -\n")
    assert read_images("x.images").names == ("link.png",)


def test_images_keep_to_the_limit_one_by_one_and_together(folder):
    rng = np.random.default_rng(0)
    (folder / "noise.png").write_bytes(encoded(photograph(rng, 30, 30)))
    (folder / "x.images").write_text(HEAD + "image noise.png -\n")
    with pytest.raises(DataError, match=r"noise\.png: it takes more than 0\.001 MB"):
        read_images("x.images", Limit(0.001))
    np.save("a.npy", np.zeros((10, 10, 3), dtype=np.uint8))
    np.save("b.npy", np.zeros((10, 10, 3), dtype=np.uint8))
    (folder / "x.images").write_text(HEAD + "image a.npy -\nimage b.npy -\n")
    assert len(read_images("x.images", Limit(0.0048)).names) == 2
    with pytest.raises(DataError, match=r"x\.images: what the images hold up to line 6 takes"):
        read_images("x.images", Limit(0.0047))
