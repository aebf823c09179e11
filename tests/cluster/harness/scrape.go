package harness

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Scrape workers on every sample: its family, its labels as they are written, its value.
func Scrape(url string, each func(name, labels string, value float64)) error {
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	reply, err := client.Get(url)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, reply.Status)
	}
	in := bufio.NewScanner(reply.Body)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		name, labels, _ := strings.Cut(line[:space], "{")
		if value, err := strconv.ParseFloat(line[space+1:], 64); err == nil {
			each(name, strings.TrimSuffix(labels, "}"), value)
		}
	}
	return in.Err()
}
