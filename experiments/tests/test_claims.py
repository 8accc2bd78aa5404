"""Claims are judged by numbers: on the paper's own they hold, on others they do not."""

import pytest
from cinnet_experiments import EXPERIMENTS
from cinnet_experiments.claims import CLAIMS, claims_section


def summary_of(name, error_of):
    cells = [{"row": cell.row, "column": cell.column, "mean": error_of(cell)} for cell in EXPERIMENTS[name].cells]
    return {"experiment": name, "preset": "fast", "cells": cells}


def papers(cell):
    return cell.target.mean if cell.target else None


TOLD_IN_NUMBERS = [c for c in CLAIMS if all(papers(cell) is not None for cell in EXPERIMENTS[c.experiment].cells)]


def test_most_claims_of_the_paper_are_told_in_numbers():
    assert sum(claim.of_the_paper for claim in TOLD_IN_NUMBERS) == 8


@pytest.mark.parametrize("claim", TOLD_IN_NUMBERS, ids=lambda claim: claim.text)
def test_the_papers_numbers_support_its_claims(claim):
    assert claim.finding(summary_of(claim.experiment, papers)).holds


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_every_claim_can_be_refuted_and_waits_for_its_data(claim):
    growing = {cell: 0.2 + i for i, cell in enumerate(map(id, EXPERIMENTS[claim.experiment].cells))}
    findings = [
        claim.finding(summary_of(claim.experiment, lambda cell, power=power: growing[id(cell)] ** power))
        for power in (1, 0, -2)
    ]
    assert not all(finding.holds for finding in findings)
    assert claim.finding(summary_of(claim.experiment, lambda cell: None)) is None


def test_section_says_what_does_not_hold():
    equal = summary_of("ac-epsilon", lambda cell: 1e-3)
    assert "does not hold" in claims_section([equal])
    assert claims_section([]) == ""


def test_a_claim_is_judged_for_every_preset_that_was_run():
    wins = summary_of("ac-grids", papers) | {"preset": "whole"}
    draw = summary_of("ac-grids", lambda cell: 1e-3)
    lines = [
        line for line in claims_section([wins, draw]).splitlines() if "smallest error on every training grid" in line
    ]
    assert ["`fast`" in line and "**does not hold**" in line for line in lines] == [True, False]
    assert ["`whole`" in line and "| holds |" in line for line in lines] == [False, True]


def test_rows_that_miss_the_papers_accuracy_are_named():
    def twice_on_the_sparsest(cell):
        return (2 if (cell.row, cell.column) == ("(10, 64)", "ci-pinn") else 1) * papers(cell)

    (claim,) = [
        claim for claim in CLAIMS if claim.text == "CI-PINN reaches the paper's accuracy on every training grid"
    ]
    finding = claim.finding(summary_of("ac-grids", twice_on_the_sparsest))
    assert not finding.holds
    assert finding.evidence == "at most the paper's mean in 5 of 6 rows; (10, 64): 2.70e-02, the paper 1.35e-02"
