package history_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/history"
)

var update = flag.Bool("update", false, "rewrite testdata")

func pod(uid, name string) *history.Series {
	return &history.Series{UID: types.UID(uid), Key: node.Key{Namespace: "default", Name: name}, MemoryLimit: 32 << 20, CPULimit: 500}
}

// copied returns a sample that later ones do not change, with the series by their values.
func copied(s *history.Sample) string {
	var b strings.Builder
	fmt.Fprint(&b, s.At)
	lines := []string{}
	for _, e := range s.Of {
		lines = append(lines, fmt.Sprintf("%+v %+v", *e.Series, e.Figures))
	}
	slices.Sort(lines) // the order of series that change places is the encoder's
	return b.String() + "\n" + strings.Join(lines, "\n")
}

// story is a sequence of samples in which series come, go and change places.
func story(random *rand.Rand, length int) (all []*history.Sample) {
	machine := &history.Series{MemoryLimit: 1 << 30}
	var pods []*history.Series
	at, uid := int64(1_764_000_000), 0
	last := map[*history.Series]history.Figures{}
	for range length {
		at += int64(random.Intn(40))
		switch random.Intn(6) {
		case 0, 1:
			uid++
			pods = append(pods, pod(fmt.Sprint("uid-", uid), fmt.Sprint("web-", random.Intn(5))))
		case 2:
			if len(pods) > 0 {
				i := random.Intn(len(pods))
				pods = slices.Delete(slices.Clone(pods), i, i+1)
			}
		case 3:
			pods = slices.Clone(pods)
			random.Shuffle(len(pods), func(i, k int) { pods[i], pods[k] = pods[k], pods[i] })
		}
		s := &history.Sample{At: at}
		for _, series := range append([]*history.Series{machine}, pods...) {
			f := last[series]
			f.CPU = random.Int63n([]int64{1, 63, 1000, 1 << 40}[random.Intn(4)]) - 1
			if random.Intn(2) == 0 {
				f.Pages = uint64(random.Int63n(1 << 50))
			}
			if random.Intn(3) == 0 {
				f.Tasks = uint64(random.Intn(1 << 20))
			}
			last[series] = f
			s.Of = append(s.Of, history.Entry{Series: series, Figures: f})
		}
		all = append(all, s)
	}
	return all
}

// TestASegmentTellsTheStoryThatWasWritten compares what is read with the samples themselves.
func TestASegmentTellsTheStoryThatWasWritten(t *testing.T) {
	for seed := range int64(300) {
		random := rand.New(rand.NewSource(seed))
		told := story(random, 40)
		resumed := random.Intn(len(told)) // an agent that goes on knows only what is in the segment
		var e history.Encoder
		d := history.Decoder{}
		if _, err := d.Next(history.Header(15)); err != nil || d.Step != 15 {
			t.Fatalf("seed %d: header: step %d, %v", seed, d.Step, err)
		}
		for i, want := range told {
			if i == resumed {
				e = d.Encoder()
			}
			got, err := d.Next(e.Append(nil, want))
			if err != nil {
				t.Fatalf("seed %d: sample %d: %v", seed, i, err)
			}
			if copied(got) != copied(want) || d.At() != want.At {
				t.Fatalf("seed %d: sample %d: got\n%s\nwant\n%s", seed, i, copied(got), copied(want))
			}
		}
	}
}

// goldenRecords are the records of a short story, one a line. What agents have written stays readable: the file changes
// only with the version.
func goldenRecords() [][]byte {
	machine, web, db := &history.Series{MemoryLimit: 1 << 30}, pod("u1", "web"), pod("u2", "db")
	figures := func(cpu int64, pages, tasks uint64) history.Figures {
		return history.Figures{CPU: cpu, Pages: pages, Tasks: tasks}
	}
	samples := []history.Sample{
		{At: 1_764_000_000, Of: []history.Entry{{machine, figures(-1, 5000, 120)}, {web, figures(-1, 300, 4)}}},
		{At: 1_764_000_015, Of: []history.Entry{{machine, figures(900, 5003, 121)}, {web, figures(0, 300, 4)}}},
		{At: 1_764_000_030, Of: []history.Entry{{machine, figures(61, 4000, 121)}, {web, figures(62, 301, 4)}, {db, figures(-1, 1, 1)}}},
		{At: 1_764_000_045, Of: []history.Entry{{machine, figures(61, 4000, 121)}, {db, figures(3, 1, 1)}}},
	}
	var e history.Encoder
	records := [][]byte{history.Header(15)}
	for i := range samples {
		records = append(records, e.Append(nil, &samples[i]))
	}
	return records
}

func TestBytesStayReadable(t *testing.T) {
	path := filepath.Join("testdata", "version1.txt")
	var now []string
	for _, record := range goldenRecords() {
		now = append(now, hex.EncodeToString(record))
	}
	text := strings.Join(now, "\n") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestARecordOfAnotherKindIsRefused(t *testing.T) {
	for name, record := range map[string][]byte{
		"nothing": nil, "another file": []byte("PK\x01\x0f"), "a version to come": []byte("NH\x02\x0f"),
		"no step": []byte("NH\x01\x00"), "more than a step": []byte("NH\x01\x0f\x01"), "a step without an end": []byte("NH\x01\x80"),
	} {
		if _, err := new(history.Decoder).Next(record); err == nil {
			t.Errorf("%s was taken for a header", name)
		}
	}
	records := goldenRecords()
	for cut := range records[1] {
		var d history.Decoder
		_, _ = d.Next(records[0])
		if _, err := d.Next(records[1][:cut]); err == nil {
			t.Errorf("a record that is cut at %d was taken", cut)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	records := goldenRecords()
	f.Add(records[1], records[2])
	f.Add([]byte{0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []byte{0x80})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var d history.Decoder
		if _, err := d.Next(history.Header(15)); err != nil {
			t.Fatal(err)
		}
		var e history.Encoder
		for _, record := range [][]byte{first, second} {
			read, err := d.Next(record)
			if err != nil {
				return
			}
			want := copied(read)
			// What was read once can be written, and read again.
			var again history.Decoder
			_, _ = again.Next(history.Header(15))
			e = history.Encoder{}
			got, err := again.Next(bytes.Clone(e.Append(nil, read)))
			if err != nil {
				t.Fatalf("a sample that was read cannot be read again: %v", err)
			}
			if unique(read) && copied(got) != want {
				t.Fatalf("got\n%s\nwant\n%s", copied(got), want)
			}
		}
	})
}

// unique reports whether a sample has each series once, as all that a sampler makes.
func unique(s *history.Sample) bool {
	seen := map[history.Series]bool{}
	for _, e := range s.Of {
		if seen[*e.Series] {
			return false
		}
		seen[*e.Series] = true
	}
	return true
}

func TestADigestKeepsTheMostOfMemoryAndTheAverageOfTheCPU(t *testing.T) {
	web, db := pod("u1", "web"), pod("u2", "db")
	at := func(at int64, of ...history.Entry) *history.Sample { return &history.Sample{At: at, Of: of} }
	f := history.NewDigest(300)
	for _, s := range []*history.Sample{
		at(600, history.Entry{Series: web, Figures: history.Figures{CPU: -1, Pages: 5, Tasks: 1}}),
		at(615, history.Entry{Series: web, Figures: history.Figures{CPU: 10, Pages: 9, Tasks: 3}}, history.Entry{Series: db, Figures: history.Figures{CPU: -1, Pages: 1}}),
		at(630, history.Entry{Series: pod("u2", "db"), Figures: history.Figures{CPU: -1, Pages: 2}}), // web is gone; db by another pointer
		at(645, history.Entry{Series: web, Figures: history.Figures{CPU: 30, Pages: 7, Tasks: 2}}),
	} {
		if got := f.Add(s); got != nil {
			t.Fatalf("a window ended early: %+v", got)
		}
	}
	got := f.Add(at(900))
	if got == nil || got.At != 645 || len(got.Of) != 2 {
		t.Fatalf("got %+v, want the window of both, at its last sample", got)
	}
	if want := (history.Figures{CPU: 20, Pages: 9, Tasks: 3}); got.Of[0].Figures != want {
		t.Errorf("web: got %+v, want %+v", got.Of[0].Figures, want)
	}
	if want := (history.Figures{CPU: history.UnknownCPU, Pages: 2}); got.Of[1].Figures != want {
		t.Errorf("db: got %+v, want %+v", got.Of[1].Figures, want)
	}
	if got := f.Add(at(1200)); got != nil {
		t.Errorf("a window without a sample has %+v", got)
	}
}

func TestAnAnswerIsInStepsAndByPod(t *testing.T) {
	old, late, other := pod("u1", "web"), pod("u2", "web"), pod("u3", "db")
	resized := *late
	resized.MemoryLimit = 1
	a := history.NewAnswer(history.Question{Key: old.Key, Since: 15, Until: 130, Step: 60})
	add := func(at int64, series *history.Series, cpu int64, pages uint64) {
		a.Add(&history.Sample{At: at, Of: []history.Entry{
			{Series: other, Figures: history.Figures{Pages: 99}}, {Series: series, Figures: history.Figures{CPU: cpu, Pages: pages}},
		}})
	}
	for i, series := range []*history.Series{old, old, old, old, old, late, late, &resized, &resized, &resized} {
		add(int64(i)*15, series, int64(i), uint64(10-i))
	}
	got := a.Pasts()
	if len(got) != 2 || got[0].UID != "u1" || got[1].UID != "u2" {
		t.Fatalf("got %+v, want both pods of the name", got)
	}
	if want := fmt.Sprint([]history.Point{{At: 45, Figures: history.Figures{CPU: 2, Pages: 9}}, {At: 60, Figures: history.Figures{CPU: 4, Pages: 6}}}); fmt.Sprint(got[0].Points) != want {
		t.Errorf("got %v, want %s", got[0].Points, want)
	}
	if want := fmt.Sprint([]history.Point{{At: 105, Figures: history.Figures{CPU: 6, Pages: 5}}, {At: 120, Figures: history.Figures{CPU: 8, Pages: 2}}}); fmt.Sprint(got[1].Points) != want {
		t.Errorf("got %v, want %s", got[1].Points, want)
	}
	if got[1].MemoryLimit != 1 {
		t.Errorf("the limit is %d, want the latest", got[1].MemoryLimit)
	}
}

func BenchmarkDigestAndEncodeAHundredPods(b *testing.B) {
	s := &history.Sample{At: 1_764_000_000}
	for i := range 100 {
		s.Of = append(s.Of, history.Entry{Series: pod(fmt.Sprint("uid-", i), fmt.Sprint("web-", i)), Figures: history.Figures{CPU: int64(i)}})
	}
	var e history.Encoder
	f := history.NewDigest(300)
	room := e.Append(make([]byte, 0, 64<<10), s)
	b.ReportAllocs()
	for b.Loop() {
		s.At += 15
		room = e.Append(room[:0], s)
		f.Add(s)
	}
}
