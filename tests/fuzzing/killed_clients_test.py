"""A short run of clients that are killed at random moments, see killed_clients.py."""

from tests.fuzzing.killed_clients import MOMENTS, KilledClients

CLIENTS = 24


def test_killed_clients(tmp_path):
    """Nothing is left of them, and nobody else notices."""
    report = KilledClients(tmp_path, CLIENTS, at_once=4, seed=7).run()
    assert report.disturbances == []
    assert report.clients.total() == CLIENTS
    assert set(report.clients) == set(MOMENTS)
    assert report.bystander_episodes > 0
    assert report.before.sessions == report.after.sessions == 1  # That of the observer.
