package main

import (
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	checks = append(checks, check{"a-namespace-holds-no-more-than-its-quota",
		"quota from ResourceQuota: refused at the door what may never be, waits what may not be now",
		quotas})
}

func quotas(w *world) error {
	made := &core.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "devices"},
		Spec: core.ResourceQuotaSpec{Hard: core.ResourceList{
			"limits.nvidia.com/gpumem": resource.MustParse("20000")}}}
	_, err := w.client.CoreV1().ResourceQuotas(w.space).Create(w.ctx, made, meta.CreateOptions{})
	if err != nil {
		return err
	}
	// Known as soon as what may never be is refused.
	err = w.until("the quota is known", func() error {
		_, err := w.create(pod("never", container("c", one("20001", "10"))))
		if err == nil {
			if err = w.remove("never"); err == nil {
				err = fmt.Errorf("it was admitted")
			}
			return err
		}
		if !strings.Contains(err.Error(), "exceeding resource quota devices") {
			return fmt.Errorf("%q", err.Error())
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"first", "second"} {
		if _, err := w.create(pod(name, container("c", one("10000", "10")))); err != nil {
			return err
		}
		if _, err := w.bound(name); err != nil {
			return err
		}
	}
	if _, err := w.create(pod("third", container("c", one("4000", "10")))); err != nil {
		return err
	}
	if _, err := w.refusedFor("third", "ResourceQuotaNotFit"); err != nil {
		return err
	}
	if err := w.remove("first"); err != nil {
		return err
	}
	_, err = w.bound("third")
	return err
}
