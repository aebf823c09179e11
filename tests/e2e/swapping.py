"""Tenants whose memory is swapped, on the card whose link is slow enough that an ordinary machine can
copy as fast: what the tests of it share."""
import contextlib
import os
import socket
import subprocess

from product import BOUND, BUILD, MIB, SUCCESS, SWAPPER, Hand, ProductTest, Tenant, wait_until

BLOCK = 4 * MIB
PATIENCE = 120.0  # seconds for an answer: it may wait for its turn on a machine that is busy


class Swappers:
    """What a test has its swappers do, on whatever card."""

    def work(self, *tenants, us=25000):
        """The card computes for `us` a round, which costs no processor; each round changes every word, which does."""
        for tenant in tenants:
            self.assertEqual(tenant.hands[0].ask("work", us), [SUCCESS])

    def rounds(self, tenant):
        return tenant.hands[0].ask("rounds")[0]

    def goes_on(self, tenant, rounds=1):
        before = self.rounds(tenant)
        wait_until(lambda: self.rounds(tenant) >= before + rounds, f"{tenant.name} works", 60)

    def rest_correctly(self, *tenants):
        """All rest, and every word of each is right."""
        for tenant in tenants:
            tenant.hands[0].tell("rest")
        for tenant in tenants:
            code, rounds = tenant.hands[0].answer()
            self.assertEqual(code, SUCCESS, tenant.name)
            self.assertGreater(rounds, 0, tenant.name)
        for tenant in tenants:
            tenant.hands[0].tell("verify")
        for tenant in tenants:
            self.assertEqual(tenant.hands[0].answer(), [SUCCESS, 0], tenant.name)

    def end_correctly(self, *tenants):
        """The same, and then they end."""
        self.rest_correctly(*tenants)
        for tenant in tenants:
            self.assertEqual(tenant.end(), 0)


class SwapTest(Swappers, ProductTest):
    """512 MiB, of which 2 are left to the driver; 8 for each context."""

    profile = "swap"
    overcommit = "1.5"

    def setUp(self):
        super().setUp()
        self.product.environment |= {"DIVVY_OVERCOMMIT": self.overcommit,
                                     "DIVVY_SWAP_CHUNK": "4Mi", "DIVVY_SWAP_QUANTUM": "300ms"}

    def swapper(self, name, memory="65%", *arguments):
        """A tenant with a context, and nothing yet in its memory."""
        tenant = Tenant(self.product, name, memory, 1, arguments, (), SWAPPER, PATIENCE)
        self.assertEqual(tenant.hands[0].ask("open"), [SUCCESS])
        return tenant

    def tenant_with(self, name, memory, *environment):
        """A tenant whose command has these variables, without a context."""
        return Tenant(self.product, name, memory, 1, (), environment, SWAPPER, PATIENCE)

    def filled(self, name, memory="65%", *arguments, blocks=78):
        tenant = self.swapper(name, memory, *arguments)
        self.assertEqual(tenant.hands[0].ask("fill", blocks, BLOCK), [SUCCESS])
        return tenant

    def assert_card_held(self):
        card = self.product.card()
        self.assertLessEqual(card["peak"], card["capacity"])
        self.assertEqual(card["unmapped_under_work"], 0)

    def took_turns(self, *tenants, turns=2):
        """Each was taken off the card, and came back, several times; its row then."""
        def taken():
            rows = {row["name"]: row for row in self.product.rows("ls")}
            swaps = [rows[tenant.name]["swaps"] for tenant in tenants]
            return rows if min(swaps) >= turns else None

        return wait_until(taken, f"{turns} turns each", 60)

    @contextlib.contextmanager
    def stranger(self):
        """A process on the same card that nobody told of Divvy."""
        path = str(self.product.root / "stranger.sock")
        environment = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "simgpu"),
                           SIMGPU_PROFILE=self.profile,
                           SIMGPU_DIR=str(self.product.runtime / f"sim-{self.profile}" / "card"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(path)
            listener.listen(1)
            listener.settimeout(BOUND)
            process = subprocess.Popen([SWAPPER, path], env=environment)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            connection = listener.accept()[0]
        connection.settimeout(BOUND)
        hand = Hand(connection.makefile("r"), connection.makefile("w"), connection.close)
        self.assertEqual(hand.ask("open"), [SUCCESS])
        yield hand
        hand.exit()
        process.wait(BOUND)
