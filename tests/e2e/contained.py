"""What the tests of containers in shares have in common: a podman of their own, and hands in its containers."""
import contextlib
import socket

from containers import IMAGE, Podman
from product import BOUND, Hand, ProductTest, wait_until

HARDENED = ("--user", "1000:1000", "--read-only", "--cap-drop", "all", "--security-opt",
            "no-new-privileges")


class PodmanTest(ProductTest):
    def setUp(self):
        super().setUp()
        self.podman = self.make_podman()
        self.addCleanup(self.podman.close)
        self.product.environment.update(self.podman.environment)
        self.sockets = self.product.root / "sockets"
        self.sockets.mkdir()
        self.sockets.chmod(0o777)

    def make_podman(self):
        return Podman(self.product.root / "pm")

    def words(self, memory, options, command, arguments=()):
        return ("run", *self.product.sim, "--memory", memory, *arguments, "--podman", "--network",
                "none", *options, IMAGE, *command)

    def contain(self, memory, *command, options=(), arguments=()):
        """A container in a share to its end: (exit status, output, error output)."""
        return self.product.divvy(*self.words(memory, ("--rm", *options), command, arguments))

    def hand(self, memory, name, options=(), arguments=()):
        """(`divvy run`, the hand in its container)."""
        listener = self.listen(name)
        mount = ("-v", f"{self.sockets}:/sockets")
        run = self.product.start(*self.words(memory, ("--rm", "--name", name, *mount, *options),
                                             ("/bin/hand", f"/sockets/{name}"), arguments))
        return run, self.accept(listener, run)

    def listen(self, name):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self.sockets / name))
        (self.sockets / name).chmod(0o777)
        listener.listen(1)
        listener.settimeout(BOUND)
        return listener

    def accept(self, listener, run=None):
        with contextlib.closing(listener):
            try:
                connection = listener.accept()[0]
            except socket.timeout:
                if run:
                    run.kill()
                raise AssertionError(f"no hand in a container: {run and run.communicate()}") from None
        self.addCleanup(connection.close)
        return Hand(connection.makefile("r"), connection.makefile("w"), connection.close)

    def row(self, name):
        return self.product.tenant_row(name)

    def gone(self, name):
        wait_until(lambda: self.row(name) is None, f"share {name} is back")

    def registered(self, name, count=1):
        wait_until(lambda: self.row(name)["processes"] == count, f"{count} processes of {name}")
