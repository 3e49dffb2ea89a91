"""Curves of buffer size against accesses, as pairs."""


def steps(curve):
    return [(point.buffer, point.accesses) for point in curve.points]


def corners(points):
    """The strict staircase of (buffer, accesses) pairs, written the slow way."""
    kept = []
    for buffer, accesses in sorted(points):
        if not kept or accesses < kept[-1][1]:
            kept.append((buffer, accesses))
    return kept
