"""A user's logo, checked and made anew as a plain PNG, so that nothing of the user's file goes into a report."""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planner.columns import BadValueError, echo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from PIL.Image import Image

FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF")
ACCEPTED: Final = "a PNG, JPEG, WebP or GIF file"
LARGEST_BYTES: Final = 10_000_000
MOST_PIXELS: Final = 25_000_000
# What a cover has room for, and the pixels that print it at 300 dots an inch.
_ROOM_MM: Final = (42.0, 12.0)
_WIDEST, _HIGHEST = 500, 142
# From this mean lightness of its visible pixels on, of 255, a logo is one for dark ground.
_LIGHT: Final = 170
_VECTOR: Final = (b"<svg", b"<?xml", b"<!doctype")


@dataclass(frozen=True, slots=True)
class Logo:
    """A logo as a plain PNG without the file's own notes, its size in pixels, and whether it is for dark ground."""

    png: bytes
    width: int
    height: int
    is_light: bool

    @property
    def width_mm(self) -> float:
        """Its width on a cover: as wide or as high as there is room."""
        return round(self.width * self._scale, 2)

    @property
    def height_mm(self) -> float:
        """Its height on a cover."""
        return round(self.height * self._scale, 2)

    @property
    def _scale(self) -> float:
        return min(_ROOM_MM[0] / self.width, _ROOM_MM[1] / self.height)


def read_logo(path: Path, shown: str = "") -> Logo:
    """The logo of a file, made anew.

    Raises BadValueError where the file is missing, too large, or no picture of a known kind.
    """
    name = echo(shown or path.name)
    try:
        if not path.is_file():
            raise BadValueError(f"Logo is {name}, and there is no such file", ACCEPTED)
        if path.stat().st_size > LARGEST_BYTES:
            raise BadValueError(f"Logo is {name}, a file of more than 10 MB", f"{ACCEPTED} of at most 10 MB")
        data = path.read_bytes()
    except OSError as error:
        raise BadValueError(f"Logo is {name}, which cannot be read ({error.strerror or error})", ACCEPTED) from error
    if data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_VECTOR):
        raise BadValueError(f"Logo is {name}, an SVG, which may load other files and run programs", ACCEPTED)
    return _made_anew(data, name)


def _made_anew(data: bytes, name: str) -> Logo:
    from PIL import Image, ImageOps, UnidentifiedImageError  # noqa: PLC0415  a run without a logo needs none of it

    try:
        with warnings.catch_warnings(), _all_of_it():
            # A picture of too many pixels is refused below as well, before any of them is unpacked.
            warnings.simplefilter("ignore")
            opened = Image.open(io.BytesIO(data), formats=FORMATS)
        with opened, _all_of_it():
            if opened.width * opened.height > MOST_PIXELS:
                raise Image.DecompressionBombError  # noqa: TRY301  as Pillow does from its own limit on
            opened.seek(0)
            turned = ImageOps.exif_transpose(opened.convert("RGBA"))
    except Image.DecompressionBombError:
        said = f"{MOST_PIXELS // 1_000_000} million pixels"
        raise BadValueError(f"Logo is {name}, of more than {said}", f"{ACCEPTED} of at most {said}") from None
    except UnidentifiedImageError:
        raise BadValueError(f"Logo is {name}, no picture of a known kind", ACCEPTED) from None
    except Exception as error:  # decoders raise many kinds on damaged files; all mean the same to the user
        raise BadValueError(f"Logo is {name}, a damaged picture", ACCEPTED) from error
    return _small(turned)


@contextlib.contextmanager
def _all_of_it() -> Iterator[None]:
    """No picture of which a part is missing, whatever others in this process let Pillow take: WeasyPrint does."""
    from PIL import ImageFile  # noqa: PLC0415  as above

    before, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


def _small(picture: Image) -> Logo:
    picture.thumbnail((_WIDEST, _HIGHEST))
    from PIL import Image  # noqa: PLC0415  as above

    # Pixels alone go over: no profile, no place where it was taken, no text.
    clean = Image.new("RGBA", picture.size)
    clean.paste(picture)
    out = io.BytesIO()
    clean.save(out, "PNG", optimize=True)
    return Logo(out.getvalue(), picture.width, picture.height, _is_light(clean))


def _is_light(picture: Image) -> bool:
    """Whether what is to be seen of a logo is light, so that it is made for dark ground; a solid one has a ground."""
    from PIL import ImageStat  # noqa: PLC0415  as above

    visible = picture.getchannel("A")
    if not any(visible.histogram()[: _SOLID + 1]):
        return False
    seen = ImageStat.Stat(picture.convert("L"), visible.point(lambda alpha: 255 if alpha > _SOLID else 0))
    return bool(seen.count[0]) and seen.mean[0] > _LIGHT


_SOLID: Final = 127
