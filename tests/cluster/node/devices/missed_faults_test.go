package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

func init() {
	checks = append(checks,
		check{"kubelet-a-memory-error-while-no-agent-was-there-is-found-by-the-next",
			"double-bit ECC errors on a card between two agents: the next one offers it to nobody from its start, says that " +
				"nobody was there when it happened, and the one after it does not tell it again; who is elsewhere goes on; " +
				"five minutes later it is offered again, and who waited for it gets it; an agent that comes after no error offers all",
			errorsUnheard})
}

func errorsUnheard(w *world) error {
	return w.onQuickCards(func(uuids []string) error { return w.foundAfterwards(uuids[0], uuids[1]) })
}

// As the agent says it, and as `divvy gpus` has it.
const (
	unheard     = "card-fault: 2 uncorrected memory errors"
	unheardWord = "Xid 48 while no agent was there, between "
)

func (w *world) foundAfterwards(bad, good string) error {
	_, units, err := w.cardsNow()
	if err != nil {
		return err
	}
	elsewhere := onCardOf("elsewhere", good)
	elsewhere.Spec.Containers[0].Args = []string{"work"}
	if _, err := w.create(elsewhere); err != nil {
		return err
	}
	// The control: an agent that comes after nothing has happened.
	if err := errors.Join(w.runs("elsewhere"), w.quickSuccessor(), w.offers(2)); err != nil {
		return err
	}
	record, err := w.agentEnds()
	if err != nil {
		return err
	}
	// The kubelet makes it without an agent, for it asks for nothing of ours.
	if err := w.strikes(w.bareOn(quickCards, "strikes-unheard", record.Build), "ecc=2"); err != nil {
		return err
	}
	mark := w.agentLogs()
	begun := time.Now()
	if err := w.agentBeginsOn(quickCards, record.Build); err != nil {
		return err
	}
	if err := errors.Join(w.offers(1), w.agentSays(unheard, mark), w.agentSays(unheardWord, mark)); err != nil {
		return err
	}
	known := time.Since(begun)
	if err := errors.Join(w.onlyOffered(good, units/2), w.outOfService("late", bad)); err != nil {
		return err
	}
	if err := w.offers(2); err != nil {
		return err
	}
	quiet := time.Since(begun)
	if quiet < quickQuiet {
		return fmt.Errorf("it was offered again %v after it was found", quiet)
	}
	err = errors.Join(w.getsIt("late", bad), w.toldOnce(), w.stillWorks("elsewhere"))
	w.note = fmt.Sprintf("found %.1f s after the agent began, offered again %.1f s after that (five minutes are %v here)",
		known.Seconds(), quiet.Seconds(), quickQuiet)
	return err
}

// toldOnce: another agent offers both cards, and has nothing to tell.
func (w *world) toldOnce() error {
	mark := w.agentLogs()
	if err := errors.Join(w.quickSuccessor(), w.agentSays(" ready, driver ", mark), w.offers(2)); err != nil {
		return err
	}
	text, err := os.ReadFile(w.processes.log(agentProcess))
	if err == nil && strings.Contains(string(text[min(mark, len(text)):]), "card-fault") {
		err = fmt.Errorf("it tells again: %s", text[mark:])
	}
	return err
}
