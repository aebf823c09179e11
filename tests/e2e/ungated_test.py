#!/usr/bin/env python3
"""Nobody is stopped for good: agents that die or stall, tenants that do while it is their turn."""
import os
import signal

from compute import ComputeTest
from product import GIB, OUT_OF_MEMORY, main, wait_until

LEASE = 2.0  # seconds, as Divvy counts them, after which a silent agent counts as gone
SLACK = 20.0  # seconds that a machine busy with other tests may add
# Of the card, for all together: how much they get of it is e2e_compute's to judge. Tenants that wait
# for a processor leave the card idle.
TOTAL = 0.3


class Agent(ComputeTest):
    scale = 2

    def setUp(self):
        super().setUp()
        self.small = self.busy("small", "--cores", 20)
        self.large = self.busy("large", "--cores", 80)
        self.both = (self.small, self.large)

    def assert_gated(self):
        """The split is the one that was asked for; not at once after a change."""
        wait_until(lambda: self.window(0.5).of(self.small) < 0.3, "they are gated again")
        self.assert_shares({self.small: 0.2, self.large: 0.8}, total=TOTAL)

    def assert_all_go_on(self, what):
        bound = LEASE / self.scale + SLACK
        for tenant in self.both:
            self.assert_goes_on(tenant, f"{tenant.name}, {what}", bound=bound)

    def end_all(self):
        for tenant in self.both:
            self.end(tenant)

    def without_agent(self, signum):
        """The agent ends, and no `divvy run` brings up another one."""
        pid = self.product.agent_pid()
        for tenant in self.both:
            tenant.run.send_signal(signal.SIGSTOP)
        os.kill(pid, signum)
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the agent is gone")

    def with_agent(self):
        for tenant in self.both:
            tenant.run.send_signal(signal.SIGCONT)
        status, _, err = self.product.run("1Gi", "true")
        self.assertEqual(status, 0, err)

    def assert_survive(self, signum):
        self.without_agent(signum)
        for _ in range(3):
            self.assert_all_go_on("without an agent")
        # The card's own turns.
        self.assert_shares({self.small: 0.5, self.large: 0.5}, total=TOTAL, points=15)
        self.assertEqual(self.small.hands[0].ask("alloc", 8 * GIB), [OUT_OF_MEMORY])
        self.with_agent()
        self.assert_gated()
        self.end_all()

    def test_tenants_run_without_an_agent_and_are_gated_by_the_next(self):
        self.assert_survive(signal.SIGKILL)

    def test_agent_that_is_told_to_end_leaves_tenants_running(self):
        self.assert_survive(signal.SIGTERM)

    def test_stalled_agent_stops_nobody(self):
        pid = self.product.agent_pid()
        self.addCleanup(os.kill, pid, signal.SIGCONT)
        os.kill(pid, signal.SIGSTOP)
        for _ in range(3):
            self.assert_all_go_on("beside a stopped agent")
        self.assert_shares({self.small: 0.5, self.large: 0.5}, seconds=5 / self.scale, total=TOTAL,
                           points=15)
        os.kill(pid, signal.SIGCONT)
        self.assert_gated()
        self.end_all()


class Holder(ComputeTest):
    scale = 1

    def test_killed_holder_leaves_the_card_at_once(self):
        waiting = self.busy("waiting")
        for _ in range(3):
            victim, _ = self.entangled("victim")
            self.assertEqual(victim.hands[0].ask("until", 0), [0])
            victim.hands[0].kill()
            self.assert_goes_on(waiting, "beside a killed holder", 0.2, bound=SLACK)
            self.assertEqual(victim.run.wait(SLACK), 128 + signal.SIGKILL, "the shell's word")
        self.assert_part(waiting, 0.9, what="when nobody else is left")
        self.end(waiting)

    def test_stopped_holder_stops_nobody_and_comes_back(self):
        other = self.busy("other", "--cores", 50)
        victim = self.busy("victim", "--cores", 50)
        for _ in range(3):
            victim.hands[0].stop()
            self.assert_goes_on(other, "beside a stopped holder", 0.3, bound=1.5 + SLACK)
            self.assert_part(other, 0.9, what="beside a stopped holder")
            victim.hands[0].kill(signal.SIGCONT)
            self.assert_goes_on(victim, "after it was continued", 0.1, bound=SLACK)
        self.assert_shares({other: 0.5, victim: 0.5}, total=TOTAL)
        self.end(other)
        self.end(victim)


if __name__ == "__main__":
    main()
