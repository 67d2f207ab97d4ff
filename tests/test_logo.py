"""A logo: what is refused and why, and that nothing of the user's file but its pixels goes into a report."""

import io
import struct
import tracemalloc
import zlib

import pytest
from PIL import Image, PngImagePlugin

from planner.columns import BadValueError
from planner.logo import read_logo

KINDS = "expected a PNG, JPEG, WebP or GIF file"
SECRET = b"taken-at-48.2N-16.4E"


def drawn(kind="PNG", size=(90, 30), colour=(200, 30, 40), mode="RGB", **more):
    out = io.BytesIO()
    Image.new(mode, size, colour).save(out, kind, **more)
    return out.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(width, height, *chunks):
    """A PNG that says it is so large, whatever it holds."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + chunk(b"IEND", b"")


def read(data, folder, name="logo.png"):
    path = folder / name
    path.write_bytes(data)
    return read_logo(path)


def said(data, folder, name="logo.png"):
    with pytest.raises(BadValueError) as caught:
        read(data, folder, name)
    return f"{caught.value.problem}; expected {caught.value.accepted}"


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'
NO_SVG = f"Logo is 'logo.png', an SVG, which may load other files and run programs; {KINDS}"
NO_PICTURE = f"Logo is 'logo.png', no picture of a known kind; {KINDS}"
DAMAGED = f"Logo is 'logo.png', a damaged picture; {KINDS}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (SVG, NO_SVG),
        (b"\xef\xbb\xbf  <?xml version='1.0'?>" + SVG, NO_SVG),
        (b"<!DOCTYPE svg [<!ENTITY a 'b'>]>" + SVG, NO_SVG),
        (b"", NO_PICTURE),
        (b"hello", NO_PICTURE),
        (b"%PDF-1.7\n", NO_PICTURE),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", NO_PICTURE),
        (drawn("TIFF"), NO_PICTURE),
        (drawn("BMP"), NO_PICTURE),
        (drawn("ICO"), NO_PICTURE),
        (drawn(size=(300, 300), colour=0, mode="L")[:-40], DAMAGED),
        (drawn("JPEG", size=(600, 600))[:400], DAMAGED),
        (drawn()[:30], NO_PICTURE),
        (png_of(9, 9, chunk(b"IDAT", b"not packed")), DAMAGED),
        (
            png_of(60_000, 60_000, chunk(b"IDAT", zlib.compress(bytes(9_999)))),
            f"Logo is 'logo.png', of more than 25 million pixels; {KINDS} of at most 25 million pixels",
        ),
        (
            png_of(2**31 - 1, 1, chunk(b"IDAT", b"")),
            f"Logo is 'logo.png', of more than 25 million pixels; {KINDS} of at most 25 million pixels",
        ),
        (drawn() + bytes(10_000_001), f"Logo is 'logo.png', a file of more than 10 MB; {KINDS} of at most 10 MB"),
    ],
)
def test_what_is_said_of_a_file(data, message, tmp_path):
    assert said(data, tmp_path) == message


def test_a_missing_file_and_a_folder_are_said(tmp_path):
    for name in ("nope.png", "."):
        with pytest.raises(BadValueError, match="there is no such file"):
            read_logo(tmp_path / name)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    rows = zlib.compress(bytes(60_000_000))
    bombs = [
        png_of(60_000, 60_000, chunk(b"IDAT", rows)),
        # Notes that unpack to 64 MB.
        png_of(9, 9, chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(64_000_000))), chunk(b"IDAT", rows)),
    ]
    for number, bomb in enumerate(bombs):
        tracemalloc.start()
        try:
            with pytest.raises(BadValueError):
                read(bomb, tmp_path, f"{number}.png")
            assert tracemalloc.get_traced_memory()[1] < 8_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("name", ["logo", "logo.txt", "logo.svg"])
def test_what_a_file_is_counts_and_not_its_name(kind, name, tmp_path):
    logo = read(drawn(kind), tmp_path, name)
    with Image.open(io.BytesIO(logo.png)) as again:
        assert (again.format, again.size) == ("PNG", (90, 30))


def test_nothing_but_pixels_goes_over(tmp_path):
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", SECRET.decode())
    notes.add_itxt("XML:com.adobe.xmp", SECRET.decode())
    for kind, more in {
        "PNG": {"pnginfo": notes, "exif": exif, "icc_profile": SECRET},
        "JPEG": {"exif": exif, "comment": SECRET, "icc_profile": SECRET},
        "WEBP": {"exif": exif, "xmp": SECRET},
    }.items():
        data = drawn(kind, **more) + SECRET
        logo = read(data, tmp_path)
        assert SECRET in data
        assert SECRET not in logo.png
        assert {logo.png[at + 4 : at + 8] for at in chunks_of(logo.png)} == {b"IHDR", b"IDAT", b"IEND"}


def chunks_of(png):
    at = 8
    while at < len(png):
        yield at
        at += 12 + int.from_bytes(png[at : at + 4], "big")


def test_a_picture_on_its_side_is_turned(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    logo = read(drawn("JPEG", exif=exif), tmp_path)
    assert (logo.width, logo.height) == (30, 90)


def test_a_large_logo_is_made_smaller_and_fits_the_cover(tmp_path):
    logo = read(drawn(size=(4000, 1000)), tmp_path)
    assert (logo.width, logo.height) == (500, 125)
    for size in ((4000, 1000), (10, 10), (1, 5000), (5000, 1)):
        logo = read(drawn(size=size), tmp_path)
        assert logo.width_mm <= 42
        assert logo.height_mm <= 12
        assert min(logo.width, logo.height) >= 1


def test_of_a_moving_picture_the_first_is_taken(tmp_path):
    out = io.BytesIO()
    frames = [Image.new("RGB", (20, 10), colour) for colour in ("red", "blue")]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    with Image.open(io.BytesIO(read(out.getvalue(), tmp_path).png)) as again:
        assert again.convert("RGB").getpixel((5, 5)) == (255, 0, 0)


@pytest.mark.parametrize(
    ("ink", "ground", "is_light"),
    [
        ((255, 255, 255, 255), (0, 0, 0, 0), True),
        ((20, 40, 90, 255), (0, 0, 0, 0), False),
        ((20, 40, 90, 255), (255, 255, 255, 255), False),
    ],
    ids=["light on nothing", "dark on nothing", "with its own ground"],
)
def test_a_light_logo_is_known_from_its_visible_pixels(ink, ground, is_light, tmp_path):
    picture = Image.new("RGBA", (60, 20), ground)
    picture.paste(ink, (10, 5, 50, 15))
    out = io.BytesIO()
    picture.save(out, "PNG")
    assert read(out.getvalue(), tmp_path).is_light is is_light


def test_the_same_file_gives_the_same_bytes(tmp_path):
    assert read(drawn(), tmp_path).png == read(drawn(), tmp_path).png
