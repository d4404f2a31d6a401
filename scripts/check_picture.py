#!/usr/bin/env python3
"""Checks that a file is a PNG of the given size that shows something: check_picture.py FILE WIDTH HEIGHT.

Reads the eight-bit RGB PNGs that veneer writes, with the standard library only.
"""
import pathlib
import struct
import sys
import zlib

FEWEST_COLOURS = 500  # of 16384 pixels; noise-free flat or black pictures have far fewer


def chunks(data):
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("is not a PNG file")
    at = 8
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        (crc,) = struct.unpack_from(">I", data, at + 8 + length)
        if crc != zlib.crc32(kind + body):
            raise ValueError(f"chunk {kind.decode('ascii', 'replace')} is damaged")
        yield kind, body
        at += 12 + length


def paeth(left, up, corner):
    estimate = left + up - corner
    return min((left, up, corner), key=lambda value: abs(estimate - value))


def unfilter(kind, row, above):
    """Undoes one row's filter (PNG specification, section 9.2), three bytes a pixel."""
    for i, value in enumerate(row):
        left = row[i - 3] if i >= 3 else 0
        up = above[i]
        corner = above[i - 3] if i >= 3 else 0
        row[i] = (value + (0, left, up, (left + up) // 2, paeth(left, up, corner))[kind]) & 255


def read_png(path):
    """Returns (width, height, rows of RGB bytes)."""
    found = list(chunks(path.read_bytes()))
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", found[0][1])
    if (depth, colour, interlace) != (8, 2, 0):
        raise ValueError("is not an eight-bit RGB picture")
    packed = zlib.decompress(b"".join(body for kind, body in found if kind == b"IDAT"))
    stride = 3 * width + 1
    if len(packed) != stride * height:
        raise ValueError("has fewer rows than its header says")
    rows, above = [], bytearray(3 * width)
    for y in range(height):
        row = bytearray(packed[y * stride + 1 : (y + 1) * stride])
        unfilter(packed[y * stride], row, above)
        rows.append(row)
        above = row
    return width, height, rows


def main():
    path, wanted = pathlib.Path(sys.argv[1]), (int(sys.argv[2]), int(sys.argv[3]))
    try:
        width, height, rows = read_png(path)
    except (OSError, ValueError, struct.error, zlib.error, IndexError) as error:
        return f"{path}: {error}"
    if (width, height) != wanted:
        return f"{path}: is {width}x{height}, expected {wanted[0]}x{wanted[1]}"
    colours = {bytes(row[x : x + 3]) for row in rows for x in range(0, len(row), 3)}
    if len(colours) < FEWEST_COLOURS:
        return f"{path}: has only {len(colours)} colours"
    print(f"{path}: {width}x{height}, {len(colours)} colours")
    return 0


if __name__ == "__main__":
    sys.exit(main())
