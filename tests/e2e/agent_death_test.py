#!/usr/bin/env python3
"""The agent is killed and comes back while tenants work; holders are killed while others wait."""
import os
import signal
import time

from product import GIB, MIB, OUT_OF_MEMORY, SUCCESS, ProductTest, main, wait_until


class AgentDeath(ProductTest):
    def kill_agent(self):
        pid = self.product.agent_pid()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the agent is gone")
        return pid

    def revive_agent(self):
        """Any `divvy run` starts an agent where there is none."""
        status, _, err = self.product.run("1Gi", "true")
        self.assertEqual(status, 0, err)
        return self.product.agent_pid()

    def test_tenants_do_not_notice_a_killed_and_reborn_agent(self):
        tenant = self.tenant("steady", "6Gi", count=3)
        for hand in tenant.hands:
            self.assertEqual(hand.ask("open"), [SUCCESS])
        for hand in tenant.hands[:2]:
            hand.tell("churn", 100_000)
        old = self.kill_agent()
        self.assertNotEqual(self.revive_agent(), old)
        self.assertNotEqual(self.kill_agent(), old)
        self.revive_agent()
        for hand in tenant.hands[:2]:
            self.assertEqual(hand.answer(), [0], "an allocation failed under load")
        self.assertIsNotNone(self.product.tenant_row("steady"))
        self.assertEqual(tenant.end(), 0)
        wait_until(lambda: self.product.rows("ls") == [], "the share is free again")

    def test_limits_hold_while_no_agent_lives(self):
        tenant = self.tenant("alone", "4Gi", count=2)
        first, second = tenant.hands
        first.ask("open")
        tenant.run.send_signal(signal.SIGSTOP)  # `divvy run` would bring up another agent
        self.kill_agent()
        self.assertEqual(second.ask("open"), [SUCCESS], "a process that starts without an agent")
        self.assertEqual(first.ask("alloc", 2 * GIB)[0], SUCCESS)
        self.assertEqual(second.ask("alloc", 2 * GIB)[0], OUT_OF_MEMORY)
        self.assertEqual(second.ask("alloc", 256 * MIB)[0], SUCCESS)
        tenant.run.send_signal(signal.SIGCONT)
        self.revive_agent()
        self.assertEqual(second.ask("alloc", 2 * GIB)[0], OUT_OF_MEMORY)
        wait_until(lambda: self.product.tenant_row("alone")["processes"] == 2, "both are known")
        self.assertEqual(tenant.end(), 0)

    def test_death_without_an_agent_is_settled_by_the_next_one(self):
        tenant = self.tenant("heals", "4Gi", count=2)
        victim, witness = tenant.hands
        witness.ask("open")
        free_alone = witness.ask("info")[1]
        victim.ask("open")
        victim.ask("alloc", 2 * GIB)
        tenant.run.send_signal(signal.SIGSTOP)  # `divvy run` would bring up another agent
        self.kill_agent()
        victim.kill()
        wait_until(lambda: not os.path.exists(f"/proc/{victim.pid}/exe"), "the victim is gone")
        self.assertEqual(witness.ask("alloc", 3 * GIB)[0], OUT_OF_MEMORY, "conservative meanwhile")
        tenant.run.send_signal(signal.SIGCONT)
        self.revive_agent()
        wait_until(lambda: witness.ask("info")[1] == free_alone, "the bytes come back")
        self.assertEqual(witness.ask("alloc", 3 * GIB)[0], SUCCESS)
        tenant.end()

    def test_share_ends_with_its_tree_although_the_agent_was_away(self):
        tenant = self.tenant("leaver", "4Gi")
        tenant.hands[0].ask("open")
        self.kill_agent()
        self.assertEqual(tenant.end(), 0)
        self.revive_agent()
        wait_until(lambda: self.product.tenant_row("leaver") is None, "the share is free again")

    def test_killed_divvy_run_leaves_the_share_to_its_survivors(self):
        tenant = self.tenant("orphan", "4Gi")
        hand = tenant.hands[0]
        hand.ask("open")
        tenant.run.kill()
        tenant.run.wait()
        self.assertEqual(hand.ask("alloc", GIB)[0], SUCCESS)
        self.assertEqual(hand.ask("alloc", 4 * GIB)[0], OUT_OF_MEMORY)
        self.assertIsNotNone(self.product.tenant_row("orphan"))
        hand.exit()
        wait_until(lambda: self.product.tenant_row("orphan") is None, "the share is free again")

    def test_killed_agent_and_divvy_run_leave_the_share_to_its_survivors(self):
        tenant = self.tenant("both", "4Gi")
        hand = tenant.hands[0]
        hand.ask("open")
        self.kill_agent()
        tenant.run.kill()
        tenant.run.wait()
        self.revive_agent()
        self.assertIsNotNone(self.product.tenant_row("both"))
        self.assertEqual(hand.ask("alloc", 4 * GIB)[0], OUT_OF_MEMORY)
        hand.exit()
        wait_until(lambda: self.product.tenant_row("both") is None, "the share is free again")


class HolderDeath(ProductTest):
    def test_others_continue_when_a_holder_is_killed_at_work(self):
        tenant = self.tenant("holders", "8Gi", count=9)
        worker, *victims = tenant.hands
        worker.ask("open")
        free_alone = worker.ask("info")[1]
        for victim in victims:
            self.assertEqual(victim.ask("open"), [SUCCESS])
            victim.ask("alloc", 64 * MIB)
        for number, victim in enumerate(victims):
            victim.tell("churn", 10_000_000)  # never ends: killed in the middle
            self.assertEqual(worker.ask("churn", 50 + 10 * number), [0])
            victim.kill()
            started = time.monotonic()
            self.assertEqual(worker.ask("churn", 1000), [0])
            self.assertLess(time.monotonic() - started, 30, "the others do not go on")
        wait_until(lambda: worker.ask("info")[1] == free_alone, "every byte comes back")
        self.assertEqual(len(self.product.card()["processes"]), 1)
        tenant.end()


if __name__ == "__main__":
    main()
