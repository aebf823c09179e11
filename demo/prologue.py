"""The scene before the first: the same programs on one card without Divvy. It needs only the simulated
card and the workloads, so that it can play while the product is still being compiled."""
from screen import size

MIB = 1 << 20
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


def play(stage, screen):
    """True if the second program failed as it does on every card without limits."""
    screen.scene(f"0. Meanwhile, without Divvy: two programs on one simulated {stage.profile}")
    probe = stage.plain("bare", "hold", str(MIB))
    free = probe.line()["free"]
    probe.popen.stdin.close()
    probe.popen.wait()
    # A sixteenth is left for the contexts of both, an eighth is asked for.
    left, wanted = free // 16, free // 8 // MIB * MIB
    notebook = stage.plain("bare", "hold", str(free - left))
    screen.event(f"a notebook takes {size(notebook.line()['held'])} of {size(free)}; nothing limits it")
    service = stage.plain("bare", "greedy", str(wanted))
    status, seen = service.finish()
    if status != 0 or seen is None:
        screen.event(f"the service: {service.error_text()}")
        return False
    screen.event(f"a service asks for {size(wanted)}: error {seen['beyond_code']}"
                 + (", out of memory" if seen["beyond_code"] == OUT_OF_MEMORY else ""))
    screen.event("with Divvy each has a share of its own: scene 1, when the build is done")
    return seen["beyond_code"] == OUT_OF_MEMORY
