package checks

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"sync"

	"divvy.dev/tests/cluster/harness"
)

// options of every test program of checks; files are found from the repository's folder.
var options = struct {
	dir, divvy, deploy, before, nvidia, volcano, proxy, kueue, records *string

	kills *int
	names *bool
}{
	dir:    flag.String("dir", "", "folder of the cluster to check, which is up"),
	divvy:  flag.String("install", "build/release/bin/divvy", "Divvy's program"),
	deploy: flag.String("deploy", "deploy/kubernetes", "folder of the manifests"),
	before: flag.String("before", "",
		"where CMake put the programs of an earlier commit (empty: their check is skipped)"),
	nvidia:  flag.String("nvidia", "", "NVIDIA's device plugin (empty: its check is skipped)"),
	volcano: flag.String("volcano", "", "Volcano's scheduler (empty: its check is skipped)"),
	proxy:   flag.String("oauth2-proxy", "", "the program oauth2-proxy (empty: its check is skipped)"),
	kueue:   flag.String("kueue", "", "the program of Kueue (empty: its checks are skipped)"),
	records: flag.String("records", "", "JSON file of one record per check, written after each"),
	kills:   flag.Int("kills", 0, "how often checks that kill do so (0: as fits into a minute)"),
	names:   flag.Bool("names", false, "print names and requirements of the checks, and run none"),
}

// enterRepository goes to the folder that paths of options and of tests start from. `go test` begins in the package's.
var enterRepository = sync.OnceValue(func() error {
	here, err := os.Getwd()
	for dir := here; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "deploy", "kubernetes")); missing == nil {
			return os.Chdir(dir)
		}
		if dir == filepath.Dir(dir) {
			return errors.New("no folder above " + here + " has deploy/kubernetes")
		}
	}
	return err
})

// openEnv is the cluster of the options, and what it was installed with.
func openEnv(ctx context.Context) (*harness.Env, error) {
	if err := enterRepository(); err != nil {
		return nil, err
	}
	program, err := harness.ProgramOf(*options.dir)
	if err != nil {
		return nil, err
	}
	cluster, err := harness.Open(*options.dir, program)
	if err != nil {
		return nil, err
	}
	if err := cluster.ReadPorts(); err != nil {
		return nil, err
	}
	client, err := cluster.Client()
	if err != nil {
		return nil, err
	}
	return &harness.Env{Ctx: ctx, Client: client, Installation: &harness.Installation{Cluster: cluster,
		Divvy: *options.divvy, Deploy: *options.deploy, Kills: *options.kills, OwnCertificate: true,
		Before: *options.before, Nvidia: *options.nvidia, Volcano: *options.volcano,
		OAuth2Proxy: *options.proxy, Kueue: *options.kueue}}, nil
}

var records struct {
	mutex sync.Mutex
	made  []harness.Record
}

// addRecord writes all records that there are so far: a program that ends early leaves them.
func addRecord(one harness.Record) error {
	records.mutex.Lock()
	defer records.mutex.Unlock()
	records.made = append(records.made, one)
	if *options.records == "" {
		return nil
	}
	return harness.WriteRecords(*options.records, records.made)
}
