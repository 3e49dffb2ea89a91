"""The Snowcat machine that bounds are counted on (Orojenesis, ISCA 2024), as files in both
notations.

A word that enters or leaves the main memory costs one unit of energy and nothing else costs any, so
`evaluate` prints an example mapping's traffic as its energy (for LoopTrees in bits).
"""

from __future__ import annotations

STORE, BUFFER, UNIT = "MainMemory", "Buffer", "MAC"

AS_LEVELS = f"""# The machine of these bounds. Energy of {STORE} = words moved.
arch:
  arithmetic: {{name: {UNIT}, instances: 1}}
  storage:
  - {{name: {BUFFER}, instances: 1}}
  - {{name: {STORE}, technology: DRAM, instances: 1}}
ERT:
  version: "0.4"
  tables:
  - name: {STORE}
    actions: [{{name: read, energy: 1}}, {{name: write, energy: 1}}, {{name: update, energy: 1}}]
  - name: {BUFFER}
    actions: [{{name: read, energy: 0}}, {{name: write, energy: 0}}, {{name: update, energy: 0}}]
  - {{name: {UNIT}, actions: [{{name: compute, energy: 0}}]}}
"""

AS_TREE = f"""# The machine of these bounds. Energy = bits that {STORE} reads and writes.
# The size of {BUFFER} is as good as none; with one, its occupancy is printed.
arch:
  nodes:
  - !Memory {{name: {STORE}, size: inf, leak_power: 0, area: 0,
             actions: [{{name: read, energy: 1, latency: 0}},
                       {{name: write, energy: 1, latency: 0}}]}}
  - !Memory {{name: {BUFFER}, size: 1e15, leak_power: 0, area: 0,
             actions: [{{name: read, energy: 0, latency: 0}},
                       {{name: write, energy: 0, latency: 0}}]}}
  - !Compute {{name: {UNIT}, leak_power: 0, area: 0,
              actions: [{{name: compute, energy: 0, latency: 0}}]}}
"""
