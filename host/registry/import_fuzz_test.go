package registry

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nodal/node"
)

// maxImportMemory bounds what the import of a small tarball may take: the decoder of zstd alone may ask for maxWindow.
const maxImportMemory = 2 * maxWindow

// imported holds what every import has to keep, whatever it reads.
func imported(t *testing.T, tarball []byte, name string) {
	root := t.TempDir()
	dir := filepath.Join(root, "a", "store")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{Dir: dir, Reserve: 1, Limit: 1 << 20, Unpacked: 1 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	images, err := s.Import(t.Context(), bytes.NewReader(tarball), Options{Name: name})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > maxImportMemory {
		t.Errorf("a tarball of %d bytes took %d bytes of memory", len(tarball), took)
	}
	if err != nil && !errors.Is(err, node.ErrInvalid) && !errors.Is(err, node.ErrTooLarge) {
		t.Errorf("got %v, want it to blame the tarball", err)
	}
	if (err == nil) != (len(images) > 0) {
		t.Errorf("got %d images and %v, want one of both", len(images), err)
	}
	checkFiles(t, root, dir)
	again := openStore(t, dir)
	for _, image := range images {
		if _, ok := again.root(image.Reference); !ok {
			t.Errorf("image %q is gone when the store is opened again", image.Reference)
		}
		if full, err := fullReference(image.Reference); err != nil || full != image.Reference {
			t.Errorf("image %q is kept under a name that is not taken: %q, %v", image.Reference, full, err)
		}
	}
}

// checkFiles fails the test if a file is outside of the store, is no plain file, or is a blob with another digest than
// its name.
func checkFiles(t *testing.T, root, dir string) {
	for _, e := range entriesBelow(t, root) {
		at := filepath.Join(root, e.name)
		in, err := filepath.Rel(dir, at)
		if err != nil || strings.HasPrefix(in, "..") || strings.HasPrefix(in, "staging") {
			t.Errorf("the import left %q", e.name)
			continue
		}
		if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != fileMode {
			t.Errorf("%q: got %v, %v, want a plain file of mode %o", e.name, info, err, fileMode)
		}
		digest := sha256.Sum256(e.data)
		if said, blob := strings.CutPrefix(in, "blobs/sha256/"); blob && said != hex.EncodeToString(digest[:]) {
			t.Errorf("blob %s has digest %x", said, digest)
		}
	}
}

// FuzzImport reads tarballs of any bytes.
func FuzzImport(f *testing.F) {
	image := ourImage(f)
	f.Add(tarOf(f, dockerSave(f, image, "app:1")...))
	f.Add(tarOf(f, ociLayout(f, named(image, map[string]string{containerdName: "docker.io/library/app:1"}))...))
	f.Add(tarOf(f, entry{name: "../../escaped", data: []byte("x")}, entry{name: "/etc/escaped", link: "../../x"}))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
	f.Add([]byte("\x28\xb5\x2f\xfd\xe4\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, tarball []byte) { imported(t, tarball, "") })
}

// FuzzImportDocuments reads sound tarballs with any documents, names and links in them. The digests in the documents
// are right: what stands for one is replaced.
func FuzzImportDocuments(f *testing.F) {
	const manifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"CONFIG","size":CSIZE},` +
		`"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"LAYER","size":LSIZE}]}`
	const index = `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"digest":"MANIFEST","size":MSIZE,"annotations":{"io.containerd.image.name":"registry.test/app:1"}}]}`
	config := fmt.Sprintf(`{"os":"linux","architecture":%q,"rootfs":{"type":"layers","diff_ids":["LAYER"]}}`, runtime.GOARCH)
	const docker = `[{"Config":"blobs/sha256/CONFIGHEX","RepoTags":["app:1"],"Layers":["LINK"]}]`
	f.Add("index.json", index, manifest, config, "layer", "a/layer.tar", "")
	linked, outside := strings.ReplaceAll(docker, "LINK", "a/layer.tar"), strings.ReplaceAll(docker, "LINK", "../../../etc/passwd")
	f.Add("manifest.json", linked, manifest, config, "layer", "a/layer.tar", "../layer.tar")
	f.Add("manifest.json", outside, manifest, config, "layer", "../../x", "/etc/passwd")
	f.Add("index.json", strings.ReplaceAll(index, "app:1", "../../app:1"), manifest, config, "\x1f\x8b\x08", "b", "b")
	f.Add("index.json", strings.ReplaceAll(index, "MSIZE", "-1"), manifest, config, "layer", "oci-layout", "")
	f.Fuzz(func(t *testing.T, name, root, manifest, config, layer, file, link string) {
		blobs := []entry{}
		replace := []string{}
		blob := func(key, data string) string {
			data = strings.NewReplacer(replace...).Replace(data)
			digest := sha256.Sum256([]byte(data))
			at := hex.EncodeToString(digest[:])
			blobs = append(blobs, entry{name: "blobs/sha256/" + at, data: []byte(data)})
			replace = append(replace, key+"HEX", at, key, "sha256:"+at, key[:1]+"SIZE", fmt.Sprint(len(data)))
			return data
		}
		blob("LAYER", layer)
		blob("CONFIG", config)
		blob("MANIFEST", manifest)
		document := strings.NewReplacer(replace...).Replace(root)
		entries := append(blobs, entry{name: "layer.tar", data: []byte(layer)}, entry{name: file, link: link},
			entry{name: name, data: []byte(document)})
		tarball, ok := tryTar(entries)
		if !ok {
			return
		}
		imported(t, tarball, "")
		imported(t, tarball, "chosen.test/name:1")
	})
}

// tryTar packs entries. Not every name can be written.
func tryTar(entries []entry) ([]byte, bool) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.data)), Mode: 0o644, Typeflag: tar.TypeReg}
		if e.link != "" {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.link, 0
		}
		if w.WriteHeader(h) != nil {
			return nil, false
		}
		if _, err := w.Write(e.data); err != nil && e.link == "" {
			return nil, false
		}
	}
	return b.Bytes(), w.Close() == nil
}

// FuzzReference holds that a name that is taken is written out in a form that is taken again and stays as it is.
func FuzzReference(f *testing.F) {
	for _, name := range []string{
		"nginx", "registry.test:5000/a/b:1", "a/../../b:1", "-rf", "[::1]:5000/a:b", "A:1", "a@sha256:00", "docker.io/a",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		full, err := fullReference(name)
		if err != nil {
			if !errors.Is(err, node.ErrInvalid) {
				t.Errorf("%q: got %v, want it to be invalid", name, err)
			}
			return
		}
		if again, err := fullReference(full); err != nil || again != full {
			t.Errorf("%q is written out as %q, and that as %q, %v", name, full, again, err)
		}
		if path.IsAbs(full) || strings.HasPrefix(full, "-") || strings.Contains(full, "/../") || strings.ContainsAny(full, " \\\x00\n") {
			t.Errorf("%q is written out as %q, which reads as a path or an option", name, full)
		}
		if _, err := json.Marshal(full); err != nil || len(full) > maxName+1+128 {
			t.Errorf("%q is written out in %d bytes, %v", name, len(full), err)
		}
	})
}
