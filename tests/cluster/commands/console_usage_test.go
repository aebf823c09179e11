package commands

import (
	"fmt"
	"math"
	"net/url"
)

// Figures differ by what began or ended between two readings of the console.
const usageTolerance = 0.01

type usageAmounts struct {
	Allocated   float64  `json:"allocated_device_hours"`
	Used        *float64 `json:"device_hours"`
	Capacity    *float64 `json:"capacity_device_hours"`
	Unallocated *float64 `json:"unallocated_device_hours"`
	Charged     *int64   `json:"charged_micro"`
}

type usageReport struct {
	Currency *string
	Items    []struct {
		Key string
		usageAmounts
	}
	Total usageAmounts
}

func (s *consoleSession) usageBy(property string) (usageReport, error) {
	var report usageReport
	return report, s.get(&report, "usage?by="+url.QueryEscape(property))
}

// allocatedDevices is the sum of the parts of devices that shares have: the larger one of memory and compute.
func (s *consoleSession) allocatedDevices() (float64, error) {
	shares, _, err := s.listedCluster()
	if err != nil {
		return 0, err
	}
	var devices []clusterDevice
	if _, err := s.env.RunDivvy(&devices, "gpus", "--cluster", "-o", "json"); err != nil {
		return 0, err
	}
	memory := map[string]uint64{}
	for _, one := range devices {
		memory[one.Node+"/"+one.UUID] = one.Memory
	}
	sum := 0.0
	for _, one := range shares {
		ofMemory := float64(one.Memory) / float64(memory[one.Node+"/"+one.Uuid])
		sum += math.Max(ofMemory, float64(one.Cores)/1000)
	}
	return sum / float64(len(devices)), nil
}

// usageAgrees compares the hours of the cluster with the parts of devices that divvy ls has. The pods of the scene are
// all of one team, and do not change.
func (s *consoleSession) usageAgrees(queue string) error {
	part, err := s.allocatedDevices()
	if err != nil {
		return err
	}
	teams, err := s.usageBy("team")
	if err != nil {
		return err
	}
	total := teams.Total
	if len(teams.Items) != 1 || teams.Items[0].Key != consoleTeam || total.Capacity == nil || *total.Capacity <= 0 {
		return fmt.Errorf("usage by team is %+v", teams)
	}
	if got := total.Allocated / *total.Capacity; math.Abs(got-part) > usageTolerance*part {
		return fmt.Errorf("shares had %g of the devices' hours, they have %g of the devices", got, part)
	}
	if sum := total.Allocated + *total.Unallocated; math.Abs(sum-*total.Capacity) > 1e-6 {
		return fmt.Errorf("allocated and unallocated hours are %g, the devices had %g", sum, *total.Capacity)
	}
	if teams.Currency != nil || total.Charged != nil || total.Used != nil {
		return fmt.Errorf("a cost or use is stated without prices or agents: %+v", teams)
	}
	for property, key := range map[string]string{"owner": s.env.Namespace + "/Deployment/web", "queue": queue,
		"namespace": s.env.Namespace} {
		report, err := s.usageBy(property)
		if err != nil {
			return err
		}
		found := false
		for _, one := range report.Items {
			found = found || (one.Key == key && one.Allocated > 0)
		}
		if !found {
			return fmt.Errorf("usage by %s has no %q: %+v", property, key, report.Items)
		}
	}
	return nil
}
