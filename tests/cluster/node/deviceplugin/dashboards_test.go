package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

func init() {
	checks = append(checks,
		check{"kubelet-the-dashboards-of-its-node-have-data",
			"a real Prometheus scrapes the agent of a node: every query of the dashboards of cards and tenants has a value for " +
				"each card, and for each container that runs with a share by what people call it; those of tenants have none " +
				"before there are any, those of cards none without the agent, and all again under the next one",
			nodeDashboardsHaveData})
}

const (
	// Nobody's memory is short here: what is promised twice is swapped. All others are above 0 for somebody.
	alwaysZero = "divvy_tenant_allocations_short_total"
	// Has values of the cards that somebody computes on who is no tenant.
	ofStrangers = "divvy_card_foreign_utilisation_ratio"
)

var dashboardTerms = append([]string{"--overcommit", "2"}, swapTurns...)

// A lodger is a container that has a share, as people call it.
type lodger struct{ pod, container string }

// The boards of a node, and who is to be on them.
type boards struct {
	cards, tenants []shown
	uuids          []string
	lodgers        []lodger
	hands          []*hand
}

func nodeDashboardsHaveData(w *world) error {
	record, _, err := w.nodeAndCards()
	if err != nil {
		return err
	}
	return w.onCards(swapCards, dashboardTerms, func(uuids []string) error {
		all := &boards{uuids: uuids}
		if all.cards, err = w.dashboard("cards.json"); err != nil {
			return err
		}
		if all.tenants, err = w.dashboard("tenants.json"); err != nil {
			return err
		}
		return w.withPrometheus(agentMetrics, func(p *prometheus) error {
			return w.nodeDashboardsShow(p, all, record.Build)
		})
	})
}

func (w *world) nodeDashboardsShow(p *prometheus, all *boards, build string) error {
	if err := w.untilScraped(p, "divvy_card_info", len(all.uuids)); err != nil {
		return err
	}
	if err := p.noneHas(all.tenants); err != nil {
		return fmt.Errorf("control: before there are tenants: %w", err)
	}
	if err := w.busyBoards(p, all, build); err != nil {
		return err
	}
	begun := time.Now()
	if err := w.boardsShow(p, all); err != nil {
		return err
	}
	w.note = fmt.Sprintf("%d queries have values of %d cards and %d containers, %.1f s after they began to work",
		len(all.cards)+len(all.tenants), len(all.uuids), len(all.lodgers), time.Since(begun).Seconds())
	if err := w.killed(agentProcess); err != nil {
		return err
	}
	err := w.until("without the agent the cards' queries are empty", func() error { return p.noneHas(all.cards) })
	if err := errors.Join(err, w.agentBeginsOn(swapCards, build, dashboardTerms...)); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	if err := w.boardsShow(p, all); err != nil {
		return fmt.Errorf("under the next agent: %w", err)
	}
	return all.workedOn()
}

// workedOn: all that was counted is of programs that did what they were told, and nothing of it is wrong.
func (b *boards) workedOn() error {
	for _, h := range b.hands {
		if rounds, err := h.rest(); err != nil || rounds == 0 {
			return errors.Join(err, fmt.Errorf("%s did %d rounds", h.name, rounds))
		}
		if err := h.intact(); err != nil {
			return err
		}
	}
	return nil
}

// noneHas: they are understood, and answered with nothing.
func (p *prometheus) noneHas(queries []shown) error {
	for _, one := range queries {
		if found, err := p.ask(one.query); err != nil || len(found) > 0 {
			return errors.Join(err, fmt.Errorf("%q: %s is %v", one.panel, one.query, found))
		}
	}
	return nil
}

// busyBoards: beside a pod that Divvy gave nothing three containers of two pods have more of the first card than it has,
// and take turns on it; each is refused something.
func (w *world) busyBoards(p *prometheus, all *boards, build string) error {
	const most = swapCardMiB * 60 / 100
	// It comes while there is room for a context.
	stranger := w.bareOn(swapCards, "stranger", build)
	stranger.Spec.Containers[0].Args = []string{"contend", "1000000"}
	if _, err := w.create(stranger); err != nil {
		return err
	}
	if err := w.runs("stranger"); err != nil {
		return err
	}
	hands, err := w.hands(beside(shareOf("pair", all.uuids[0], most), swapCardMiB/8), "swapper")
	if err != nil {
		return err
	}
	single, err := w.hand(shareOf("single", all.uuids[0], most), "swapper")
	if err != nil {
		return err
	}
	hands = append(hands, single)
	all.hands = hands
	all.lodgers = []lodger{{"pair", "probe"}, {"pair", "beside"}, {"single", "probe"}}
	for at, blocks := range []int{most/4 - 8, 4, most/4 - 8} {
		if err := errors.Join(hands[at].must("open"), hands[at].must("fill", blocks, swapBlock)); err != nil {
			return err
		}
	}
	// What is counted from now on is an increase.
	if err := w.untilScraped(p, "divvy_tenant_allocations_refused_total", len(hands)); err != nil {
		return err
	}
	for _, h := range hands {
		if code, err := h.code("more", swapCardMiB<<20); err != nil || code != outOfMemory {
			return errors.Join(err, fmt.Errorf("%s asked for all of the card, and is told %d", h.name, code))
		}
		if err := h.must("work", 5000); err != nil {
			return err
		}
	}
	return nil
}

// boardsShow: each query, at some moment.
func (w *world) boardsShow(p *prometheus, all *boards) error {
	for _, one := range all.cards {
		err := w.until(one.panel, func() error { return p.showsCards(one, all.uuids) })
		if err != nil {
			return err
		}
	}
	for _, one := range all.tenants {
		err := w.until(one.panel, func() error { return p.showsLodgers(one, w.space, all.lodgers) })
		if err != nil {
			return err
		}
	}
	queries := append(append([]shown{}, all.cards...), all.tenants...)
	return w.until("every query has a value", func() error { return p.allHave(queries) })
}

// showsCards: it has a value for each card, or one for all, or for the node; one of them is above 0.
func (p *prometheus) showsCards(one shown, uuids []string) error {
	found, err := p.ask(one.query)
	if err != nil {
		return err
	}
	if one.query == ofStrangers {
		uuids = uuids[:1]
	}
	for _, uuid := range uuids {
		_, there := most(found, "device", uuid)
		if whole := len(found) == 1 && found[0].labels["device"] == ""; !there && !whole {
			return fmt.Errorf("%s of %s is not in %v", one.query, uuid, found)
		}
	}
	return one.aboveNothing(found)
}

// showsLodgers: it has a value for each of these containers, or each one's pod where it adds containers up.
func (p *prometheus) showsLodgers(one shown, space string, lodgers []lodger) error {
	found, err := p.ask(one.query)
	if err != nil {
		return err
	}
	sums := strings.HasPrefix(one.query, "sum by (namespace, pod) ")
	for _, who := range lodgers {
		var its []sample
		for _, has := range found {
			same := has.labels["namespace"] == space && has.labels["pod"] == who.pod
			if same && (sums || has.labels["container"] == who.container) {
				its = append(its, has)
			}
		}
		if _, there := most(its, "", ""); !there || len(its) != 1 {
			return fmt.Errorf("%s of %v of %s is not once in %v", one.query, who, space, found)
		}
	}
	return one.aboveNothing(found)
}

func (one shown) aboveNothing(found []sample) error {
	if value, _ := most(found, "", ""); value <= 0 && !strings.Contains(one.query, alwaysZero) {
		return fmt.Errorf("%s is %v", one.query, found)
	}
	return nil
}
