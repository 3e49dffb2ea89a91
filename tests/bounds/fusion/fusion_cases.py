"""Workloads that several fusion tests share."""

import solver_mapper as sm

CHAIN2 = ["C[m, n] = A[m, k] * B[k, n]", "E[m, l] = C[m, n] * D[n, l]"]
CHAIN3 = [
    "T1[m, p] = T0[m, k] * W0[k, p]",
    "T2[m, q] = T1[m, p] * W1[p, q]",
    "T3[m, r] = T2[m, q] * W2[q, r]",
]
FORK = [
    "T1[m, p] = T0[m, k] * W0[k, p]",
    "T2[m, q] = T1[m, p] * W1[p, q]",
    "T3[m, r] = T1[m, p] * W2[p, r]",
]
JOIN = [
    "T1[m, p] = T0[m, k] * W0[k, p]",
    "T2[m, p] = T0[m, k] * W1[k, p]",
    "T3[m, p] = T1[m, p] * T2[m, p]",
]
ATTENTION = [
    "Q[b, h, m, e] = X[b, m, d] * WQ[d, h, e]",
    "QK[b, h, m, n] = Q[b, h, m, e] * K[b, h, n, e]",
    "S[b, h, m] = QK[b, h, m, n]",
    "P[b, h, m, n] = QK[b, h, m, n] * S[b, h, m]",
    "AV[b, h, m, e] = P[b, h, m, n] * V[b, h, n, e]",
    "Z[b, m, o] = AV[b, h, m, e] * WZ[h, e, o]",
]
SKIP = [
    "T1[m, p] = T0[m, k] * W0[k, p]",
    "T2[m, q] = T1[m, p] * W1[p, q]",
    "T3[m, r] = T2[m, q] * W2[q, r]",
    "T4[m, p] = T3[m, r] * W3[r, p] * T1[m, p]",
]
CONVOLUTIONS = ["T[p, c] = I[X: p + r, d] * F[r, c, d]", "U[q, f] = T[P: q + s, c] * G[s, c, f]"]


def workload(einsums, **sizes):
    """The workload of `einsums`; sizes by rank variable in lower case or by rank in upper case."""
    return sm.load(
        {
            "workload": {
                "rank_sizes": {rank.upper(): size for rank, size in sizes.items()},
                "einsums": einsums,
            }
        }
    ).workload


def chains(count):
    """Independent chains of two, whose orders of execution are many."""
    return [
        each
        for i in range(count)
        for each in (
            f"C{i}[m, n] = A{i}[m, k] * B{i}[k, n]",
            f"E{i}[m, l] = C{i}[m, n] * D{i}[n, l]",
        )
    ]
