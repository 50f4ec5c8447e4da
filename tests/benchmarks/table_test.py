from benchmarks.arena import COLUMNS
from benchmarks.measurements import Summary
from benchmarks.table import Result, to_markdown

RESULTS = [
    Result(
        213,
        "a small one",
        {
            "step": dict(
                zip(
                    COLUMNS,
                    [
                        Summary(312.4, 1365.2, 500, 9),
                        Summary(100, 104.6, 101, 9),
                        Summary(0.51, 12.34, 2, 9),
                    ],
                    strict=True,
                )
            )
        },
    ),
    Result(
        19_682, "a large one", {"fork": dict.fromkeys(COLUMNS, Summary(1_234_567, 2e6, 1.5e6, 1))}
    ),
]


def test_markdown():
    assert to_markdown(RESULTS).splitlines() == [
        "| program | p50 / p90 / mean in µs | environment | gRPC alone | in process "
        "| environment ÷ in process, p50 | environment ÷ in process, mean |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: |",
        "| 213 | step | 312 / 1,370 / 500 | 100 / 105 / 101 | 0.510 / 12.3 / 2.00 | 613 | 250 |",
        f"| 19,682 | fork |{' 1,230,000 / 2,000,000 / 1,500,000 |' * 3} 1.00 | 1.00 |",
    ]
