"""The tables, from measurements made up here."""

from __future__ import annotations

import dataclasses

import pytest

from bench.formats import format_time
from bench.report import Report
from bench.results import Failure, Result, from_json, relative_difference, to_json
from bench.workloads import load

FRAMEWORKS = ["penstock", "penstock-c", "tensorflow", "torch-compile", "jax"]


def result(framework: str, workload: str, median_s: float, check: float = 1.0) -> Result:
    return Result(
        framework=framework,
        workload=workload,
        version="1.0",
        python="3.11",
        import_s=1.0,
        build_s=0.1,
        first_run_s=0.5,
        settle_s=2.0 if framework == "penstock-c" else 0.0,
        median_s=median_s,
        q1_s=median_s,
        q3_s=median_s,
        mean_s=2 * median_s,
        cold_s=3 * median_s if workload == "small_mlp" else None,
        steps=10,
        peak_mib=64.2,
        other_cores=0.0,
        check=(check, check),
    )


def report(*rounds: dict[tuple[str, str], float]) -> Report:
    """Of two workloads, from the medians of each round."""
    made = [{key: result(key[1], key[0], median) for key, median in each.items()} for each in rounds]
    return Report([load("empty_step"), load("small_mlp")], FRAMEWORKS, made)


def cells(lines: list[str], workload: str) -> list[str]:
    """A row of a table, without the name it begins with."""
    (row,) = (line for line in lines if line.startswith(f"| {workload} "))
    return [cell.strip() for cell in row.split("|")[2:-1]]


def test_a_ratio_compares_neighbours_in_time_and_the_best_peer_is_the_best_of_the_round() -> None:
    found = report(
        {("small_mlp", "penstock"): 1.0, ("small_mlp", "tensorflow"): 4.0, ("small_mlp", "jax"): 2.0},
        {("small_mlp", "penstock"): 10.0, ("small_mlp", "tensorflow"): 30.0, ("small_mlp", "jax"): 50.0},
        {("small_mlp", "penstock"): 1.0, ("small_mlp", "tensorflow"): 2.0, ("small_mlp", "jax"): 1.5},
    )
    beside_tensorflow, beside_best, *tier_1 = cells(found.times(), "small_mlp")[len(FRAMEWORKS) :]
    assert beside_tensorflow == "3.00x [2.00..4.00]"
    assert beside_best == "2.00x [1.50..3.00]"
    assert tier_1 == ["-", "-"]


def test_beside_neighbours_means_count_and_what_is_cold_has_a_table_of_its_own() -> None:
    found = report({("small_mlp", "penstock"): 1.0, ("small_mlp", "tensorflow"): 4.0, ("empty_step", "penstock"): 1.0})
    assert cells(found.times("cold", "cold_s"), "small_mlp")[:3] == ["3.00 s", "-", "12.0 s"]
    assert not [line for line in found.times("cold", "cold_s") if "empty_step" in line]
    found.neighbours = 1
    text = found.text()
    assert text.startswith("| mean ")
    assert text.count("- tensorflow/penstock: geometric mean 4.00x") == 2
    assert "first run" not in text


def test_neighbours_that_were_wanted_do_not_disturb() -> None:
    found = report({("small_mlp", "penstock"): 1.0})
    found.rounds = [{key: dataclasses.replace(r, other_cores=1.05) for key, r in found.rounds[0].items()}]
    assert "Shared machine" in found.text()
    found.neighbours = 1
    assert "Shared machine" not in found.text()


def test_the_geometric_mean_is_over_the_workloads_that_both_ran() -> None:
    found = report(
        {
            ("small_mlp", "penstock"): 1.0,
            ("small_mlp", "tensorflow"): 8.0,
            ("empty_step", "penstock"): 1.0,
            ("empty_step", "tensorflow"): 0.5,
            ("empty_step", "jax"): 0.25,
        }
    )
    assert "- tensorflow/penstock: geometric mean 2.00x; 1x or more in 1 of 2 workloads." in found.text()
    assert "- best peer/penstock: geometric mean 1.41x; 1x or more in 1 of 2 workloads." in found.text()
    assert "penstock-c: geometric" not in found.text()


def test_a_cell_without_a_measurement_says_why() -> None:
    found = report({("small_mlp", "penstock"): 1.0})
    found.failures += [
        Failure("torch-compile", "small_mlp", "timeout", "no result within 90 s"),
        Failure("jax", "small_mlp", "run", "ValueError: no"),
    ]
    assert cells(found.times(), "small_mlp")[: len(FRAMEWORKS)] == ["1.00 s", "-", "-", "timeout", "failed"]
    assert "- torch-compile, small_mlp: timeout: no result within 90 s" in found.notes()


def test_the_second_table_shows_first_runs_memory_and_whether_the_numbers_agree() -> None:
    found = report({("small_mlp", f): 1.0 for f in ("penstock", "penstock-c", "tensorflow")})
    plain, compiled = "500 ms, 64 MiB", "500 ms + 2.00 s, 64 MiB"
    assert cells(found.starts(), "small_mlp") == [plain, compiled, plain, "-", "-", "yes"]
    found.rounds[0]["small_mlp", "jax"] = result("jax", "small_mlp", 1.0, check=1.01)
    assert cells(found.starts(), "small_mlp")[-1] == "DIFFER: jax by 1.0e-02"


def test_nan_is_equal_to_nothing() -> None:
    assert relative_difference([float("nan")], [float("nan")]) == float("inf")


def test_results_cross_the_process_boundary_unchanged() -> None:
    there = result("jax", "small_mlp", 1e-3)
    assert from_json(to_json(there)) == there
    with pytest.raises(ValueError, match="not a worker's report"):
        from_json("a framework's chatter")


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.3e-6, "1.30 µs"), (999.4e-6, "999 µs"), (999.6e-6, "1.00 ms"), (12.34, "12.3 s")]
)
def test_times_have_three_digits_and_a_unit(seconds: float, text: str) -> None:
    assert format_time(seconds) == text
