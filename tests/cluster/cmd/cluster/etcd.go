package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd keeps the cluster's state: one member, on loopback, without waiting for the disk (what it
// holds is thrown away with the cluster).
func runEtcd() int {
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	dir := flags.String("data-dir", "", "where its files are")
	client := flags.String("client-url", "", "where the apiserver finds it")
	peer := flags.String("peer-url", "", "where other members would")
	_ = flags.Parse(os.Args[1:])
	config := embed.NewConfig()
	config.Dir = *dir
	config.LogLevel = "warn"
	config.UnsafeNoFsync = true
	config.QuotaBackendBytes = 4 << 30
	config.AutoCompactionMode = "periodic"
	config.AutoCompactionRetention = "1h"
	for _, one := range []struct {
		text string
		into []*[]url.URL
	}{
		{*client, []*[]url.URL{&config.ListenClientUrls, &config.AdvertiseClientUrls}},
		{*peer, []*[]url.URL{&config.ListenPeerUrls, &config.AdvertisePeerUrls}},
	} {
		parsed, err := url.Parse(one.text)
		if err != nil || one.text == "" {
			fmt.Fprintf(os.Stderr, "etcd: %q is no URL\n", one.text)
			return 2
		}
		for _, into := range one.into {
			*into = []url.URL{*parsed}
		}
	}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
		return 1
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-ended:
		server.Close()
		return 0
	case err := <-server.Err():
		fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
		return 1
	}
}
