"""Colours as eyes perceive them: how far apart they are, and whether text is readable on them."""

from __future__ import annotations

Rgb = tuple[int, int, int]

# Colour blindness as matrices on linear RGB: Machado, Oliveira & Fernandes 2009, severity 1.
EYES = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.3039),
    ),
}


def linear(color: Rgb) -> tuple[float, ...]:
    return tuple(
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (part / 255 for part in color)
    )


def luminance(color: Rgb) -> float:
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(color), strict=True))


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast ratio of WCAG, which requires 4.5 for text and 3 for graphics."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(color: Rgb, eye: str) -> tuple[float, float, float]:
    """Return a colour in CIE L*a*b* as an eye perceives it; Euclidean distances are ΔE 1976."""
    seen = [
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear(color), strict=True)))) for row in EYES[eye]
    ]
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = (sum(a * b for a, b in zip(row, seen, strict=True)) for row in to_xyz)
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (part / white for part, white in zip(xyz, (0.95047, 1, 1.08883), strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)
