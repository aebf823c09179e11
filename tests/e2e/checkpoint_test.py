"""Memory that Divvy cannot swap, and a tenant of a higher class that needs it: the driver's checkpoint
takes the lower one off the card with all it has, and brings it back when there is room."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from product import MIB, SUCCESS, main, wait_until
from swapping import BLOCK, SwapTest

ARRAYS = 140  # of 2 MiB: 280 of the card's 510
BLOCKS = 75   # of 4 MiB, for the one that needs them
AWAY = 120.0  # seconds for a checkpoint on a machine that is busy


class CheckpointTest(SwapTest):
    def setUp(self):
        super().setUp()
        self.product.environment["DIVVY_CHECKPOINT"] = "on"
        # Else who is short goes on with the host's memory, and nobody has to leave.
        self.product.environment["DIVVY_HOST_MAP"] = "off"

    def agent(self, **variables):
        """One in whose environment these are, which tenants' is not."""
        return self.product.agent(env=self.product.environment | variables)

    def log(self):
        return (self.product.runtime / "sim-swap" / "agent.log").read_text()

    def low(self):
        """One with a lot of memory that stays."""
        low = self.swapper("low", "65%", "--priority", "low")
        self.assertEqual(low.hands[0].ask("arrays", ARRAYS), [SUCCESS])
        return low

    def high(self):
        high = self.swapper("high", "65%", "--priority", "high", "--on-pressure", "wait",
                            "--pressure-wait", "2m")
        high.hands[0].tell("fill", BLOCKS, BLOCK)
        return high

    def row(self, tenant):
        return self.product.tenant_row(tenant.name)

    def becomes(self, tenant, phase, bound=AWAY):
        return wait_until(lambda: self.row(tenant)["checkpoint"] == phase and self.row(tenant),
                          f"{tenant.name} is {phase}", bound)

    def bytes_of(self, tenant):
        pid = tenant.hands[0].pid
        return sum(each["bytes"] for each in self.product.card()["processes"] if each["pid"] == pid)

    def intact(self, tenant):
        self.assertEqual(tenant.hands[0].ask("intact"), [SUCCESS, 0])

    def test_a_higher_class_gets_what_a_lower_one_cannot_swap(self):
        low = self.low()
        self.assertEqual(self.row(low)["checkpoint_note"], "")
        held = self.bytes_of(low)
        self.assertGreaterEqual(held, ARRAYS * 2 * MIB)
        high = self.high()
        row = self.becomes(low, "away")
        self.assertEqual(self.bytes_of(low), 0)
        self.assertEqual(row["shares"][0]["resident"], 0)
        self.assertEqual(row["shares"][0]["swapped"], row["shares"][0]["used"])
        self.assertIn("checkpointed", self.product.divvy("ls", *self.product.sim)[1])
        self.assertIn("1 checkpointed", self.product.divvy("gpus", *self.product.sim)[1])
        self.assertEqual(high.hands[0].answer(), [SUCCESS])
        self.work(high)
        self.goes_on(high, 3)
        self.assertEqual(self.row(low)["checkpoint"], "away", "it is not back before there is room")
        self.end_correctly(high)
        self.becomes(low, "here")
        self.assertEqual(self.bytes_of(low), held)
        self.intact(low)
        self.assert_card_held()
        self.assertEqual(low.end(), 0)

    def test_off_nobody_is_taken_away(self):
        del self.product.environment["DIVVY_CHECKPOINT"]
        low = self.low()
        self.assertIn("--checkpoint", self.row(low)["checkpoint_note"])
        status, _, err = self.product.run("65%", "true", arguments=("--priority", "high"))
        self.assertEqual(status, 1)
        self.assertIn("beside memory of other tenants that is never swapped", err)
        self.assertEqual(self.row(low)["checkpoint"], "here")
        self.intact(low)

    def test_an_agent_that_is_killed_brings_them_back(self):
        low, high = self.low(), self.high()
        self.becomes(low, "away")
        before = self.product.agent_pid()
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: self.product.agent_pid() != before, "another agent")
        self.assertEqual(high.hands[0].answer(), [SUCCESS])
        self.work(high)
        self.goes_on(high)
        self.assertEqual(self.row(low)["checkpoint"], "away")
        self.end_correctly(high)
        self.becomes(low, "here")
        self.intact(low)
        self.assert_card_held()

    def test_an_agent_that_is_killed_on_the_way_leaves_nobody_locked(self):
        """Its helper ends the call that it is in; its successor finds out how far that came."""
        self.agent(SIMGPU_FAULTS="checkpoint=slow:6000")
        low, high = self.low(), self.high()
        self.becomes(low, "leaving")
        os.kill(self.product.agent_pid(), signal.SIGKILL)
        self.assertEqual(high.hands[0].answer(), [SUCCESS])
        self.work(high)
        self.goes_on(high)
        self.end_correctly(high)
        self.becomes(low, "here")
        self.intact(low)

    def test_a_lock_that_takes_too_long_leaves_it_as_it_was(self):
        self.agent(SIMGPU_FAULTS="fail-at=cuCheckpointProcessLock=600")  # CUDA_ERROR_NOT_READY
        low, high = self.low(), self.high()
        wait_until(lambda: self.row(low)["checkpoint_note"] == "its work did not finish in time",
                   "the reason", AWAY)
        self.becomes(low, "here")
        self.intact(low)
        os.kill(self.product.agent_pid(), signal.SIGKILL)  # its successor's driver is better
        self.becomes(low, "away")
        self.assertEqual(high.hands[0].answer(), [SUCCESS])
        self.work(high)
        self.goes_on(high)
        self.end_correctly(high)
        self.becomes(low, "here")
        self.intact(low)

    def test_a_checkpoint_that_fails_costs_that_process_and_is_said(self):
        self.agent(SIMGPU_FAULTS="checkpoint=fail")
        low, high = self.low(), self.high()
        self.assertEqual(high.hands[0].answer(), [SUCCESS])
        self.assertNotEqual(low.run.wait(AWAY), 0)
        self.assertIn('reason="its checkpoint failed"', self.log())
        self.work(high)
        self.goes_on(high)
        self.end_correctly(high)

    def test_a_restore_that_runs_out_of_memory_is_said(self):
        self.agent(SIMGPU_FAULTS="fail-at=cuCheckpointProcessRestore=2")
        low, high = self.low(), self.high()
        self.becomes(low, "away")
        self.assertEqual(high.hands[0].answer(), [SUCCESS])
        self.work(high)
        self.goes_on(high)
        self.end_correctly(high)
        self.assertNotEqual(low.run.wait(AWAY), 0)
        self.assertIn('reason="the device had too little memory to restore it, which is final"', self.log())

    def test_what_the_card_has_no_room_for_is_not_tried(self):
        """Others took what the book says is free: the card's own word counts."""
        low, high = self.low(), self.high()
        self.becomes(low, "away")
        self.assertEqual(high.hands[0].answer(), [SUCCESS])
        self.work(high)
        self.goes_on(high)
        self.rest_correctly(high)
        agent = self.product.agent_pid()
        with self.stranger() as stranger:
            os.kill(agent, signal.SIGSTOP)  # or it might bring back first whom there is room for
            try:
                high.hands[0].exit()
                wait_until(lambda: self.bytes_of(high) == 0, "the higher one's end")
                self.assertEqual(stranger.ask("more", 260 * MIB), [SUCCESS])
            finally:
                os.kill(agent, signal.SIGCONT)
            self.assertEqual(high.run.wait(AWAY), 0)
            self.assertEqual(self.row(low)["state"], "running")
            # The book has room, so it is on its way whenever the card is asked anew.
            self.becomes(low, "away")
            self.assertEqual(self.bytes_of(low), 0)
        self.becomes(low, "here")
        self.intact(low)


if __name__ == "__main__":
    main()
