"""The scene about more memory than there is: two tenants, each nearly as large as the card.

Not quite: contexts are never swapped, and both tenants' are there all the time."""
import time

from screen import size

MIB, GIB = 1 << 20, 1 << 30
# On a simulated card of 512 MiB whose link carries 1 GB/s; a real one is used within this budget.
SIM_PROFILE, SIM_BUDGET, SIM_OWN, SIM_ROUNDS = "swap", 480 * MIB, 32 * MIB, 4
REAL_BUDGET, REAL_OWN, REAL_ROUNDS = 8 * GIB, 2 * GIB, 2000
QUANTUM = "1s"
TURNS = 2  # that each gets at least


def play(stage, screen):
    screen.scene("8. Two tenants, each nearly as large as the card, take turns on its memory")
    simulated = stage.simulated
    budget, own, rounds = ((SIM_BUDGET, SIM_OWN, SIM_ROUNDS) if simulated
                           else (REAL_BUDGET, REAL_OWN, REAL_ROUNDS))
    stage = stage.other("swap", {"DIVVY_OVERCOMMIT": "2.1", "DIVVY_DEVICE_BUDGET": str(budget),
                                 "DIVVY_SWAP_QUANTUM": QUANTUM, "DIVVY_SWAP_CHUNK": "8Mi"},
                        SIM_PROFILE if simulated else None)
    screen.event(f"{size(budget)} of a card; an agent with --overcommit 2.1 --swap-quantum "
                 f"{QUANTUM}")
    names = ("lara", "mike")
    tenants = {name: stage.tenant(name, budget - own // 2, "large", str(budget - own), str(rounds))
               for name in names}
    asked = 0
    for name, tenant in tenants.items():
        asked += tenant.line()["bytes"]
    screen.event(f"lara and mike have {size(asked)} of it, and work on all of that")
    swaps, shown = watch(stage, screen, tenants)
    if not shown:
        screen.event("they were done before a picture could be taken")
    for name, tenant in tenants.items():
        status, result = tenant.finish()
        good = status == 0 and result is not None and result["wrong"] == 0
        seen = f"{result['checked']:,} verified" if result else tenant.error_text()
        screen.check(f"{name}'s numbers", "right results", seen, good)
    for name in names:
        screen.check(f"{name}'s memory came back", f">= {TURNS} times", f"{swaps[name]} times",
                     swaps[name] >= TURNS)
    if not simulated:
        screen.skip("bytes over the budget", "a real card keeps no books")
        return
    over = max(0, stage.card()["peak"] - budget)
    screen.check("bytes over, by the card's own books", "0 B", size(over), over == 0)


def watch(stage, screen, tenants):
    """How often the memory of each came back; shows `divvy top` once when both have had a turn."""
    swaps = dict.fromkeys(tenants, 0)
    shown = False
    while not all(tenant.ended() for tenant in tenants.values()):
        for row in stage.rows("ls"):
            if row["name"] in swaps:
                swaps[row["name"]] = max(swaps[row["name"]], row["swaps"])
        if not shown and min(swaps.values()) >= 1:
            shown = True
            screen.event("divvy ls, meanwhile:")
            screen.show(stage.view("ls", 80), indent=0)
        screen.status("turns: " + ", ".join(f"{name} {count}" for name, count in swaps.items()))
        time.sleep(0.1)
    return swaps, shown
