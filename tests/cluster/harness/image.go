package harness

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// An image is what a container consists of, made of this machine's files: there is no registry.
type image struct {
	name  string            // "cluster.test/pause:1"
	entry []string          // what is run in it
	files map[string]string // by path in it: the file here
	links map[string]string // by path in it: where a symbolic link leads
}

// Folders that runtimes and programs expect to be there.
var imageFolders = []string{"dev", "etc", "proc", "run", "sys", "tmp", "var"}

// libraries are those that a program or library needs, by the path under which they are looked for.
func libraries(file string, into map[string]string) error {
	out, err := exec.Command("ldd", file).Output()
	if err != nil {
		return fmt.Errorf("ldd %s: %w", file, err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 3 && fields[1] == "=>" && filepath.IsAbs(fields[2]):
			into[fields[2]] = fields[2]
		case len(fields) == 2 && filepath.IsAbs(fields[0]): // the loader itself
			into[fields[0]] = fields[0]
		}
	}
	return nil
}

func (one image) layer() ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	made := map[string]bool{}
	var folder func(path string) error
	folder = func(path string) error {
		if path == "." || path == "" || made[path] {
			return nil
		}
		if err := folder(filepath.Dir(path)); err != nil {
			return err
		}
		made[path] = true
		return archive.WriteHeader(&tar.Header{Name: path + "/", Typeflag: tar.TypeDir, Mode: 0o755})
	}
	for _, name := range imageFolders {
		if err := folder(name); err != nil {
			return nil, err
		}
	}
	for _, inside := range sortedKeys(one.files) {
		path := strings.TrimPrefix(inside, "/")
		if err := folder(filepath.Dir(path)); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(one.files[inside])
		if err != nil {
			return nil, err
		}
		head := &tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))}
		if err := archive.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := archive.Write(text); err != nil {
			return nil, err
		}
	}
	for _, inside := range sortedKeys(one.links) {
		path := strings.TrimPrefix(inside, "/")
		if err := folder(filepath.Dir(path)); err != nil {
			return nil, err
		}
		head := &tar.Header{Name: path, Typeflag: tar.TypeSymlink, Linkname: one.links[inside], Mode: 0o777}
		if err := archive.WriteHeader(head); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}

// write makes an archive as `docker save` does.
func (one image) write(file string) error {
	layer, err := one.layer()
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": one.entry},
		"rootfs": map[string]any{"type": "layers",
			"diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}}})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json",
		"RepoTags": []string{one.name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(out)
	for name, text := range map[string][]byte{"layer.tar": layer, "config.json": config,
		"manifest.json": manifest} {
		head := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}
		if err = archive.WriteHeader(head); err != nil {
			break
		}
		if _, err = io.Copy(archive, bytes.NewReader(text)); err != nil {
			break
		}
	}
	return errors.Join(err, archive.Close(), out.Close())
}

func sortedKeys(from map[string]string) []string {
	numbered := map[string]int{}
	for key := range from {
		numbered[key] = 0
	}
	return sorted(numbered)
}
