package users

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFree(t *testing.T) {
	pool := Pool{Range{2 * Unit, 4 * Unit}, Unit}
	unit := func(n uint32) Range { return Range{n * Unit, Unit} }
	for _, test := range []struct {
		name  string
		pool  Pool
		taken []Range
		want  Range
		ok    bool
	}{
		{"the first of all", pool, nil, unit(2), true},
		{"the next behind those that are taken, in whatever order", pool, []Range{unit(3), unit(2)}, unit(4), true},
		{"a gap before the rest", pool, []Range{unit(4), unit(2)}, unit(3), true},
		{"nothing when all are taken", pool, []Range{unit(2), unit(3), unit(4), unit(5)}, Range{}, false},
		{"what is outside takes nothing away", pool, []Range{unit(0), unit(1), unit(6)}, unit(2), true},
		{"a longer one from other times is passed over whole", pool, []Range{{Unit, 3 * Unit}}, unit(4), true},
		{"a shorter one is too", pool, []Range{{2*Unit + 10, 5}}, unit(3), true},
		{"two that overlap are", pool, []Range{{2 * Unit, 3 * Unit}, unit(3)}, unit(5), true},
		{"none of an empty pool", Pool{}, nil, Range{}, false},
		{"up to the very last id", Pool{Range{math.MaxUint32 - Unit + 1, Unit}, Unit}, nil, Range{math.MaxUint32 - Unit + 1, Unit}, true},
		{"and none behind that", Rest(1 << 31), []Range{{1 << 31, 1 << 31}}, Range{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := test.pool.Free(test.taken)
			if got != test.want || ok != test.ok {
				t.Errorf("got %v, %t, want %v, %t", got, ok, test.want, test.ok)
			}
		})
	}
}

// TestFreeIsNeverShared takes and gives back at random: no two have an id in common.
func TestFreeIsNeverShared(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pool := Pool{Range{Unit, 20 * Unit}, Unit}
	var taken []Range
	for range 2000 {
		if len(taken) > 0 && random.IntN(2) == 0 {
			i := random.IntN(len(taken))
			taken = append(taken[:i], taken[i+1:]...)
			continue
		}
		got, ok := pool.Free(taken)
		if ok != (len(taken) < 20) {
			t.Fatalf("with %d of 20 taken: %v, %t", len(taken), got, ok)
		}
		for _, other := range taken {
			if ok && uint64(got.First) < other.end() && uint64(other.First) < got.end() {
				t.Fatalf("%v overlaps %v", got, other)
			}
		}
		if ok {
			taken = append(taken, got)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name string
		pool Pool
		pods int
		want string
	}{
		{"all that a machine has", Rest(Unit), 250, ""},
		{"all, in larger parts", Rest(2 * Unit), 250, ""},
		{"an odd number for each", Pool{Range{Unit, Unit}, 1000}, 1, "no multiple of 65536"},
		{"the host's own", Pool{Range{0, 10 * Unit}, Unit}, 1, "belong to the host"},
		{"a beginning in the middle", Pool{Range{Unit + 1, Unit}, Unit}, 1, "multiples"},
		{"an end in the middle", Pool{Range{Unit, Unit + 1}, Unit}, 1, "multiples"},
		{"too few", Pool{Range{Unit, 10 * Unit}, Unit}, 11, "not enough for 11 pods"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.pool.Check(test.pods)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestAssigned(t *testing.T) {
	want := Pool{Range{131072, 7208960}, Unit}
	for _, test := range []struct {
		name, subuid, subgid string
		want                 Pool
		ok                   bool
		problem              string
	}{
		{"nobody is spoken of", "", "", Pool{}, false, ""},
		{"others are", "root:100000:65536\n", "root:100000:65536\n", Pool{}, false, ""},
		{"one range", "root:1:2\nkubelet:131072:7208960\n", "kubelet:131072:7208960", want, true, ""},
		{"users without groups", "kubelet:131072:7208960", "", Pool{}, false, "the same in both"},
		{"two ranges", "kubelet:131072:65536\nkubelet:262144:65536", "kubelet:131072:65536\nkubelet:262144:65536", Pool{}, false, "one range"},
		{"no numbers", "kubelet:x:1", "kubelet:x:1", Pool{}, false, "first id"},
		{"too many", "kubelet:65536:99999999999", "kubelet:65536:99999999999", Pool{}, false, "number of ids"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok, err := Assigned(test.subuid, test.subgid, Unit)
			if got != test.want || ok != test.ok || (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("got %v, %t, %v; want %v, %t, %q", got, ok, err, test.want, test.ok, test.problem)
			}
		})
	}
}
