package registry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"nodal/node"
)

func TestATarballOfDockerSaveKeepsItsNamesAndItsConfiguration(t *testing.T) {
	image := ourImage(t)
	config, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, t.TempDir())
	got := importAll(t, s, tarOf(t, dockerSave(t, image, "app:1", "registry.test:5000/team/app:2")...), Options{})
	if len(got) != 2 {
		t.Fatalf("got %d images, want 2: %v", len(got), got)
	}
	for i, want := range []string{"docker.io/library/app:1", "registry.test:5000/team/app:2"} {
		if got[i].Reference != want || got[i].ID != config.String() || got[i].Digest != got[0].Digest || got[i].Size < 6000 {
			t.Errorf("image %d: got %+v, want %s with id %s", i, got[i], want, config)
		}
	}
}

func TestATarballOfDockerSaveMayHaveCompressedLayers(t *testing.T) {
	image := ourImage(t)
	tag, err := name.NewTag("registry.test/app:1")
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := tarball.Write(tag, image, &file); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, t.TempDir())
	if got := importAll(t, s, file.Bytes(), Options{}); len(got) != 1 || got[0].Reference != "registry.test/app:1" {
		t.Errorf("got %v, want registry.test/app:1", got)
	}
}

func TestAnOCILayoutKeepsItsDigests(t *testing.T) {
	image := ourImage(t)
	for annotation, value := range map[string]string{containerdName: "docker.io/library/app:1", refName: "app:1"} {
		t.Run(annotation, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			got := importAll(t, s, tarOf(t, ociLayout(t, named(image, map[string]string{annotation: value}))...), Options{})
			if len(got) != 1 || got[0].Reference != "docker.io/library/app:1" || got[0].Digest != digestOf(t, image) {
				t.Errorf("got %v, want docker.io/library/app:1 with digest %s", got, digestOf(t, image))
			}
		})
	}
}

func TestAnIndexKeepsItsDigestAndOnlyThisPlatform(t *testing.T) {
	ours, other := ourImage(t), makeImage(t, otherArch())
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: other, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: otherArch()}}},
		mutate.IndexAddendum{Add: ours, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: platform()[len("linux/"):]}}})
	dir := t.TempDir()
	s := openStore(t, dir)
	got := importAll(t, s, tarOf(t, ociLayout(t, named(index, map[string]string{containerdName: "registry.test/app:1"}))...), Options{})
	if len(got) != 1 || got[0].Digest != digestOf(t, index) {
		t.Fatalf("got %v, want the digest of the index, %s", got, digestOf(t, index))
	}
	// Two documents of indexes and manifests, the configuration and two layers.
	if files := filesBelow(t, s.blobs()); len(files) != 5 {
		t.Errorf("got %d blobs, want the 5 of this platform: %q", len(files), files)
	}
}

func TestACompressedTarballIsUnpackedOnTheWay(t *testing.T) {
	plain := tarOf(t, dockerSave(t, ourImage(t), "app:1")...)
	for name, pack := range map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	} {
		t.Run(name, func(t *testing.T) {
			var packed bytes.Buffer
			w := pack(&packed)
			if _, err := w.Write(plain); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := importAll(t, openStore(t, t.TempDir()), packed.Bytes(), Options{}); len(got) != 1 {
				t.Errorf("got %v, want one image", got)
			}
			cut := packed.Bytes()[:packed.Len()-10]
			_, err := openStore(t, t.TempDir()).Import(t.Context(), bytes.NewReader(cut), Options{})
			if !errors.Is(err, node.ErrInvalid) {
				t.Errorf("cut short: got %v, want an error of kind invalid", err)
			}
		})
	}
}

func TestAChosenNameStandsForTheTarballsOwn(t *testing.T) {
	s := openStore(t, t.TempDir())
	unnamed := tarOf(t, dockerSave(t, ourImage(t))...)
	got := importAll(t, s, unnamed, Options{Name: "registry.test/app"})
	if len(got) != 1 || got[0].Reference != "registry.test/app:latest" {
		t.Errorf("got %v, want registry.test/app:latest", got)
	}
	bare := tarOf(t, ociLayout(t, named(ourImage(t), map[string]string{refName: "v1"}))...)
	got = importAll(t, s, bare, Options{Name: "app:2"})
	if len(got) != 1 || got[0].Reference != "docker.io/library/app:2" {
		t.Errorf("got %v, want docker.io/library/app:2", got)
	}
}

func TestWhatIsNoImageForThisNodeIsRefused(t *testing.T) {
	image, other := ourImage(t), makeImage(t, otherArch())
	save := func(change func([]entry) []entry) []byte {
		return tarOf(t, change(dockerSave(t, image, "app:1"))...)
	}
	oci := ociLayout(t, named(image, map[string]string{containerdName: "app:1"}))
	without := func(entries []entry, name string) []entry {
		return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return strings.HasPrefix(e.name, name) })
	}
	cases := []struct {
		name    string
		tarball []byte
		options Options
		want    string
	}{
		{"nothing", nil, Options{}, "cut short"},
		{"a text", []byte(strings.Repeat("no tarball\n", 200)), Options{}, "no tar archive"},
		{"a tarball of something else", tarOf(t, entry{name: "README", data: []byte("hello")}), Options{}, "holds no image"},
		{"an image without a name", tarOf(t, dockerSave(t, image)...), Options{}, "give a name"},
		{"a layout with no more than a tag", tarOf(t, ociLayout(t, named(image, map[string]string{refName: "v1"}))...), Options{}, "give a name"},
		{"a name that leads upwards", tarOf(t, dockerSave(t, image)...), Options{Name: "nodal.test/../../x:1"}, "no runtime takes it"},
		{"a name like a flag", tarOf(t, dockerSave(t, image)...), Options{Name: "-rf"}, "no runtime takes it"},
		{"such a name of its own", tarOf(t, dockerSave(t, image, "nodal.test/./x:1")...), Options{}, "no runtime takes it"},
		{"a name that is none", tarOf(t, dockerSave(t, image)...), Options{Name: "UPPER CASE"}, "not of the form"},
		{"one name for two images", tarOf(t, ociLayout(t, named(image, nil), named(ourImage(t), nil))...), Options{Name: "app:1"}, "2 images"},
		{"an image for another machine", tarOf(t, dockerSave(t, other, "app:1")...), Options{}, "this node is linux/"},
		{"a layer that is not there", save(func(e []entry) []entry { return without(e, "blob1") }), Options{}, `no file "layer1/layer.tar"`},
		{"a corrupt layer of docker save", save(func(e []entry) []entry { e[1].data[700] ^= 1; return e }), Options{}, "corrupt"},
		{"a corrupt blob of a layout", tarOf(t, corrupted(oci)...), Options{}, "corrupt"},
		{"a layout without its blobs", tarOf(t, without(oci, "blobs/")...), Options{}, "cut short"},
		{"a manifest.json that is no JSON", tarOf(t, entry{name: "manifest.json", data: []byte("{")}), Options{}, "manifest.json"},
		{"links in a circle", tarOf(t, entry{name: "manifest.json", link: "./a"}, entry{name: "a", link: "manifest.json"}), Options{}, "holds no image"},
		{"a tarball that ends in the middle", tarOf(t, oci...)[:1500], Options{}, "cut short"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			before := filesBelow(t, s.cfg.Dir)
			images, err := s.Import(t.Context(), bytes.NewReader(c.tarball), c.options)
			if !errors.Is(err, node.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v and error %v, want an invalid tarball and %q", images, err, c.want)
			}
			if after := filesBelow(t, s.cfg.Dir); !slices.Equal(before, after) {
				t.Errorf("it left %q", after)
			}
		})
	}
}

// corrupted changes a byte of a blob.
func corrupted(entries []entry) []entry {
	entries = slices.Clone(entries)
	i := slices.IndexFunc(entries, func(e entry) bool { return strings.HasPrefix(e.name, "blobs/") })
	entries[i].data = slices.Clone(entries[i].data)
	entries[i].data[5] ^= 1
	return entries
}

func TestPathsOfATarballStayOutsideOfTheDisk(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir+"/images")
	evil := append(dockerSave(t, ourImage(t), "app:1"),
		entry{name: "../../escaped", data: []byte("x")}, entry{name: "/etc/escaped", data: []byte("x")},
		entry{name: "link", link: "/"}, entry{name: "link/escaped", data: []byte("x")})
	importAll(t, s, tarOf(t, evil...), Options{})
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("got %v beside the store (error %v), want nothing", entries, err)
	}
}

func TestAnImportIsBounded(t *testing.T) {
	tarball := tarOf(t, dockerSave(t, ourImage(t), "app:1")...)
	for _, c := range []struct {
		name string
		cfg  Config
		want error
	}{
		{"by the limit", Config{Limit: 1000}, node.ErrTooLarge},
		{"by what the disk has to keep", Config{Reserve: 1 << 60}, node.ErrNoSpace},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Dir = t.TempDir()
			s, err := Open(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Import(t.Context(), bytes.NewReader(tarball), Options{}); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// TestNamesOfATarballAreBounded packs names that compress well, which are kept until the tarball has been read.
func TestNamesOfATarballAreBounded(t *testing.T) {
	var entries []entry
	for i := range 30 {
		entries = append(entries, entry{name: fmt.Sprintf("link%d", i), link: strings.Repeat("x", 200<<10)})
	}
	entries = append(entries, dockerSave(t, ourImage(t), "app:1")...)
	tarball := gzipped(t, tarOf(t, entries...))
	if len(tarball) > 100<<10 {
		t.Fatalf("the tarball has %d bytes", len(tarball))
	}
	s := openStore(t, t.TempDir())
	if _, err := s.Import(t.Context(), bytes.NewReader(tarball), Options{}); !errors.Is(err, node.ErrTooLarge) {
		t.Errorf("got %v, want %v", err, node.ErrTooLarge)
	}
}

func TestNameIsCheckedBeforeTheTarballIsRead(t *testing.T) {
	s := openStore(t, t.TempDir())
	if _, err := s.Import(t.Context(), failing{errors.New("it was read")}, Options{Name: "-rf"}); !errors.Is(err, node.ErrInvalid) {
		t.Errorf("got %v, want that the name is refused", err)
	}
}

func TestWhatLayersUnpackToIsBounded(t *testing.T) {
	zeros := make([]byte, 3<<20)
	image, err := mutate.AppendLayers(ourImage(t), static.NewLayer(gzipped(t, zeros), types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	tarball := tarOf(t, ociLayout(t, named(image, map[string]string{containerdName: "app:1"}))...)
	if len(tarball) > 1<<20 {
		t.Fatalf("the tarball has %d bytes", len(tarball))
	}
	for _, c := range []struct {
		name    string
		allowed int64
		want    error
	}{
		{"less than the zeros", int64(len(zeros)) - 1, node.ErrTooLarge},
		{"the zeros, without the rest", int64(len(zeros)), node.ErrTooLarge},
		{"the zeros and the rest", int64(len(zeros)) + 100_000, nil},
		{"what the disk has", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(Config{Dir: dir, Reserve: 1, Unpacked: c.allowed})
			if err != nil {
				t.Fatal(err)
			}
			before := filesBelow(t, dir)
			if _, err := s.Import(t.Context(), bytes.NewReader(tarball), Options{}); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if after := filesBelow(t, dir); c.want != nil && !slices.Equal(before, after) {
				t.Errorf("it left %q", after)
			}
		})
	}
}

func gzipped(t *testing.T, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(plain)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAnImportEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client is gone")
	cancel(gone)
	s := openStore(t, t.TempDir())
	if _, err := s.Import(ctx, bytes.NewReader(make([]byte, 100)), Options{}); !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
}

func TestAStreamThatBreaksIsNotTheTarballsFault(t *testing.T) {
	broken := errors.New("connection reset")
	tarball := tarOf(t, dockerSave(t, ourImage(t), "app:1")...)
	r := io.MultiReader(bytes.NewReader(tarball[:2000]), failing{broken})
	s := openStore(t, t.TempDir())
	if _, err := s.Import(t.Context(), r, Options{}); !errors.Is(err, broken) || errors.Is(err, node.ErrInvalid) {
		t.Errorf("got %v, want %v and nothing about an invalid tarball", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestProgressTellsHowMuchWasRead(t *testing.T) {
	big := tarOf(t, append(dockerSave(t, ourImage(t), "app:1"), entry{name: "ballast", data: make([]byte, 5<<20)})...)
	var told []int64
	importAll(t, openStore(t, t.TempDir()), big, Options{Progress: func(read int64) { told = append(told, read) }})
	if len(told) < 4 || !slices.IsSorted(told) {
		t.Fatalf("got %v, want at least four words that grow", told)
	}
	if last := told[len(told)-1]; last < 4<<20 {
		t.Errorf("got %d at last, want more than 4 MiB", last)
	}
}
