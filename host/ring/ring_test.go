package ring

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/frame"
	"nodal/node/history"
)

const began = int64(1_764_000_000)

func settings(dir string) Config {
	return Config{Dir: dir, Step: 15 * time.Second, MaxBytes: 1 << 20, MaxAge: 24 * time.Hour}
}

func open(t testing.TB, cfg Config) *Ring {
	t.Helper()
	r, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// seriesOf returns the node and so many pods.
func seriesOf(pods int) []*history.Series {
	all := []*history.Series{{}}
	for i := range pods {
		name := fmt.Sprintf("web-%d", i)
		all = append(all, &history.Series{
			UID: types.UID("0b1c2d3e-" + name), Key: node.Key{Namespace: "default", Name: name}, MemoryLimit: 64 << 20,
		})
	}
	return all
}

// nth returns a sample of the series, in which the memory of each tells its number.
func nth(of []*history.Series, n int) *history.Sample {
	s := &history.Sample{At: began + int64(n)*15}
	for i, series := range of {
		s.Of = append(s.Of, history.Entry{Series: series, Figures: history.Figures{CPU: int64(n % 7), Pages: uint64(n + i), Tasks: 3}})
	}
	return s
}

func add(t testing.TB, r *Ring, s *history.Sample) {
	t.Helper()
	if err := r.Append(s); err != nil {
		t.Fatal(err)
	}
}

// numbers returns which samples a ring has, and checks the figures of each.
func numbers(t testing.TB, r *Ring) (found []int) {
	t.Helper()
	err := r.Read(0, 1<<40, func(s *history.Sample) {
		n := int(s.At-began) / 15
		for i, e := range s.Of {
			if e.Pages != uint64(n+i) || e.CPU != int64(n%7) || e.Tasks != 3 {
				t.Fatalf("sample %d has %+v in place %d", n, e.Figures, i)
			}
		}
		found = append(found, n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSamplesSurviveAnAgentThatWasKilled(t *testing.T) {
	cfg, pods := settings(t.TempDir()), seriesOf(3)
	for n := range 10 {
		add(t, open(t, cfg), nth(pods, n)) // each in an agent of its own
	}
	if got := numbers(t, open(t, cfg)); len(got) != 10 {
		t.Errorf("got samples %v, want 10", got)
	}
	if files, _ := os.ReadDir(cfg.Dir); len(files) != 1 {
		t.Errorf("%d files for ten agents, want one: each would repeat all series", len(files))
	}
}

// TestACutAnywhereCostsTheLastSamplesOnly cuts the file at every byte, as a crash may, and goes on there.
func TestACutAnywhereCostsTheLastSamplesOnly(t *testing.T) {
	cfg, pods := settings(t.TempDir()), seriesOf(2)
	r := open(t, cfg)
	ends := []int64{}
	for n := range 6 {
		of := pods
		if n >= 3 {
			of = pods[:2] // a pod has gone
		}
		add(t, r, nth(of, n))
		ends = append(ends, r.size)
	}
	path := filepath.Join(cfg.Dir, r.segments[0].name())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(text) + 1 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		whole := 0
		for whole < len(ends) && ends[whole] <= int64(cut) {
			whole++
		}
		again := open(t, settings(dir))
		add(t, again, nth(pods, 10))
		got := numbers(t, again)
		if len(got) != whole+1 || got[whole] != 10 {
			t.Fatalf("cut at %d of %d: got samples %v, want the first %d and one more", cut, len(text), got, whole)
		}
	}
}

func TestASegmentOfAnotherVersionIsLeftAloneAndTold(t *testing.T) {
	cfg, pods := settings(t.TempDir()), seriesOf(1)
	r := open(t, cfg)
	add(t, r, nth(pods, 0))
	path := filepath.Join(cfg.Dir, r.segments[0].name())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	foreign := frame.Append(nil, []byte("NH\x63what an agent to come has written"))
	if err := os.WriteFile(path, foreign, 0o600); err != nil {
		t.Fatal(err)
	}
	again := open(t, cfg)
	add(t, again, nth(pods, 1))
	var got int
	if err := again.Read(0, 1<<40, func(*history.Sample) { got++ }); err == nil || got != 1 {
		t.Errorf("got %d samples, %v, want the new one and an error about the other segment", got, err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(foreign) {
		t.Errorf("the segment of %d bytes was changed: %d, %v", len(text), len(now), err)
	}
}

func TestARingIsBounded(t *testing.T) {
	cfg, pods := settings(t.TempDir()), seriesOf(20)
	cfg.MaxBytes = 64 << 10
	r := open(t, cfg)
	const samples = 5000
	for n := range samples {
		add(t, r, nth(pods, n))
	}
	sum := int64(0)
	files, err := os.ReadDir(cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	if sum > cfg.MaxBytes+4<<10 || sum < cfg.MaxBytes*3/4 {
		t.Errorf("%d bytes are kept, want up to %d", sum, cfg.MaxBytes)
	}
	got := numbers(t, r)
	for i := range got {
		if got[i] != samples-len(got)+i {
			t.Fatalf("got sample %d in place %d of %d, want the latest without a gap", got[i], i, len(got))
		}
	}
}

func TestSamplesThatAreTooOldGo(t *testing.T) {
	cfg, pods := settings(t.TempDir()), seriesOf(1)
	r := open(t, cfg)
	day := int(24 * time.Hour / cfg.Step)
	for n := range 2 * day {
		add(t, r, nth(pods, n))
	}
	if got := numbers(t, r); len(got) < day || len(got) > day+2*day/parts+1 {
		t.Errorf("%d samples are kept, want those of a day: %d", len(got), day)
	}
	add(t, r, nth(pods, 10*day))
	if got := numbers(t, r); len(got) != 1 {
		t.Errorf("%d samples are kept after a week without any, want the new one", len(got))
	}
}

func TestAClockThatIsSetBackCostsNothing(t *testing.T) {
	cfg, pods := settings(t.TempDir()), seriesOf(1)
	r := open(t, cfg)
	for _, n := range []int{100, 101, 50, 51} {
		add(t, r, nth(pods, n))
	}
	if got := fmt.Sprint(numbers(t, open(t, cfg))); got != "[100 101 50 51]" {
		t.Errorf("got samples %s", got)
	}
}

// TestADiskThatFailsCostsItsOwnSamples has a file that cannot be written, as on a full disk.
func TestADiskThatFailsCostsItsOwnSamples(t *testing.T) {
	cfg, pods := settings(t.TempDir()), seriesOf(1)
	r := open(t, cfg)
	add(t, r, nth(pods, 0))
	_ = r.file.Close() // the next write fails
	if err := r.Append(nth(pods, 1)); err == nil {
		t.Fatal("a sample was written to a closed file")
	}
	if err := os.RemoveAll(cfg.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg.Dir, nil, 0o600); err != nil { // in the way of the directory
		t.Fatal(err)
	}
	if err := r.Append(nth(pods, 2)); err == nil {
		t.Fatal("a sample was written below a file")
	}
	if err := os.Remove(cfg.Dir); err != nil {
		t.Fatal(err)
	}
	add(t, r, nth(pods, 3))
	add(t, r, nth(pods, 4))
	if got := fmt.Sprint(numbers(t, r)); got != "[3 4]" {
		t.Errorf("got samples %s, want those after the repair", got)
	}
}

func TestOnlySegmentsOfTheTimeAreRead(t *testing.T) {
	cfg, pods := settings(t.TempDir()), seriesOf(1)
	r := open(t, cfg)
	day := int(24 * time.Hour / cfg.Step)
	for n := range day {
		add(t, r, nth(pods, n))
	}
	read := 0
	from := nth(pods, day-20).At
	if err := r.Read(from, from+60, func(*history.Sample) { read++ }); err != nil || read == 0 || read > 2*day/parts {
		t.Errorf("%d of %d samples were read for a minute, %v", read, day, err)
	}
}

// A day of a hundred pods, of which ten are busy.
func TestADayOfAHundredPodsIsSmall(t *testing.T) {
	cfg, pods := settings(t.TempDir()), seriesOf(100)
	cfg.MaxBytes = 64 << 20
	r := open(t, cfg)
	day := int(24 * time.Hour / cfg.Step)
	for n := range day {
		s := &history.Sample{At: began + int64(n)*15}
		for i, series := range pods {
			f := history.Figures{CPU: int64(i % 40), Pages: uint64(1000 + i), Tasks: 3}
			if i%10 == 0 { // busy
				f.CPU, f.Pages, f.Tasks = int64(2000+n*i%5000), uint64(1000+n*7919%4000), uint64(3+n%3)
			}
			s.Of = append(s.Of, history.Entry{Series: series, Figures: f})
		}
		add(t, r, s)
	}
	sum := int64(0)
	for _, s := range r.segments {
		sum += s.size
	}
	t.Logf("%d bytes a day", sum)
	if sum > 2<<20 {
		t.Errorf("a day takes %d bytes, want less than 2 MiB", sum)
	}
}

func BenchmarkAppendOfAHundredPods(b *testing.B) {
	r, pods := open(b, settings(b.TempDir())), seriesOf(100)
	s := nth(pods, 0)
	add(b, r, s)
	b.ReportAllocs()
	for b.Loop() {
		s.At += 15
		add(b, r, s)
	}
}
