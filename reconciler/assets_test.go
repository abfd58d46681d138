package reconciler

import (
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/reconciler/decide"
)

// files is a kind of asset, and released is one of it.
var files = ReleasedVolumes(nil, nil)

func released(users ...node.Key) Asset {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", UID: "u1"}}
	return Asset{Key: AssetKey{Kind: files.Name, Name: "u1"}, Users: users, Want: volume}
}

var removeReleased = node.RemoveFiles{Volume: released().Want.(*corev1.PersistentVolume)}

// toldAsset says what an asset wants done now.
func toldAsset(t *AssetTrack, now time.Time) string {
	turn := t.Next(true, now)
	switch {
	case turn.Observe:
		return "look"
	case len(turn.Actions) > 0:
		return turn.Actions[0].String()
	case !turn.Wake.IsZero():
		return "wake in " + turn.Wake.Sub(now).String()
	}
	return ""
}

func TestAssetIsLookedAtBeforeAnythingIsDone(t *testing.T) {
	const there, record = "remove the files of volume pv", "forget volume pv"
	seen := func(began node.Mark, left bool) func(*AssetTrack) {
		return func(a *AssetTrack) { a.See(AssetSighting{Began: began, Look: left}, noon) }
	}
	begins := func(a *AssetTrack) { a.Begin(removeReleased) }
	ends := func(mark node.Mark, err error) func(*AssetTrack) {
		return func(a *AssetTrack) { a.Done(Outcome{Action: removeReleased, Err: err, Mark: mark, Now: noon}) }
	}
	blind := func(a *AssetTrack) { a.See(AssetSighting{Began: 1, Err: errors.New("away")}, noon) }
	failed, unknown := &node.Failure{Reason: node.VolumeFailedDelete, Err: errors.New("busy")}, node.ErrUnknown
	for _, c := range []struct {
		name string
		then []func(*AssetTrack)
		want string
	}{
		{"an agent that starts", nil, "look"},
		{"files that are there", []func(*AssetTrack){seen(1, true)}, there},
		{"files that a former agent has removed", []func(*AssetTrack){seen(1, false)}, record},
		{"a look that failed rests", []func(*AssetTrack){blind}, "wake in 1m0s"},
		{"a look that succeeds after that", []func(*AssetTrack){blind, seen(2, true)}, there},
		{"a removal under way", []func(*AssetTrack){seen(1, true), begins}, ""},
		{"a look meanwhile", []func(*AssetTrack){seen(1, true), begins, seen(2, false)}, ""},
		{"files that are removed", []func(*AssetTrack){seen(1, true), begins, ends(3, nil)}, record},
		{"a look from before the removal", []func(*AssetTrack){seen(1, true), begins, ends(3, nil), seen(2, true)}, record},
		{"a removal that failed", []func(*AssetTrack){seen(1, true), begins, ends(3, failed)}, "look"},
		{"which rests after the look", []func(*AssetTrack){seen(1, true), begins, ends(3, failed), seen(4, true)}, "wake in 1m0s"},
		{"a removal without an answer", []func(*AssetTrack){seen(1, true), begins, ends(3, unknown)}, "look"},
		{"which had its effect", []func(*AssetTrack){seen(1, true), begins, ends(3, unknown), seen(4, false)}, record},
	} {
		track := NewAssetTrack(files, released())
		for _, do := range c.then {
			do(track)
		}
		if got := toldAsset(track, noon); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOtherWantsOfAnAssetForgiveItsFaults(t *testing.T) {
	track := NewAssetTrack(files, released())
	track.See(AssetSighting{Began: 1, Err: errors.New("away")}, noon)
	if track.Intend(released()) {
		t.Error("the same asset is news")
	}
	if !track.Intend(released(node.Key{Name: "web"})) || toldAsset(track, noon) != "look" {
		t.Error("an asset that is wanted otherwise still rests")
	}
}

// idleHands begin nothing.
type idleHands struct {
	Hands
	cancelled []string
}

func (h *idleHands) Tend(_ *Tended, a node.Action) func() {
	return func() { h.cancelled = append(h.cancelled, a.Target()) }
}
func (*idleHands) Find(*Tended, node.Mark) {}

// tending is a loop that has seen the files of a volume, and begun to remove them.
func tending(asset Asset) (*Loop, *Tended, *idleHands) {
	h := &idleHands{}
	l := NewLoop(nil, node.Site{})
	l.Hands = h
	a := &Tended{AssetTrack: NewAssetTrack(files, asset), cancels: map[string]func(){}}
	l.tended[asset.Key] = a
	l.Found(a, AssetSighting{Began: l.Stamp(), Look: true}, noon)
	l.tend(noon)
	return l, a, h
}

func TestNewsOfAnAssetWakesThePodsThatUseIt(t *testing.T) {
	web := node.Key{Namespace: "default", Name: "web"}
	l, a, _ := tending(released())
	a.asset.Users = []node.Key{web}
	track := trackOf(upTo(node.ContainerRunning))
	track.got.Faults = map[string]node.Fault{node.VolumeTarget("v"): {Retry: noon.Add(time.Hour)}}
	l.tracks[web] = &Tracked{Track: track, Key: web}
	l.Found(a, AssetSighting{Began: l.Stamp(), Look: true}, noon)
	if l.dirty[web] {
		t.Error("a look without news wakes the pod")
	}
	l.FinishAsset(a, Outcome{Action: removeReleased, Now: noon})
	if !l.dirty[web] || len(track.Got().Faults) > 0 {
		t.Errorf("the pod is woken: %t, and its faults are %v; want that it tries again", l.dirty[web], track.Got().Faults)
	}
}

func TestAnAssetStaysUntilNothingIsInFlight(t *testing.T) {
	l, a, h := tending(released())
	a.kind = wanting(&[]Wanted[string]{})
	l.dropAsset(a)
	if len(l.Assets()) != 1 || len(h.cancelled) != 1 {
		t.Fatalf("%d assets are followed and %v is given up, want one and its action", len(l.Assets()), h.cancelled)
	}
	l.FinishAsset(a, Outcome{Action: removeReleased, Now: noon})
	if len(l.Assets()) != 0 {
		t.Error("an asset that is not wanted is followed for ever")
	}
}

// wanting is a kind of which these are wanted.
func wanting(these *[]Wanted[string]) Kind {
	return KindOf[string, bool]{
		Name:   files.Name,
		Wanted: func(iter.Seq[*node.Pod]) []Wanted[string] { return *these },
		Plan:   func(decide.Asset[string, bool]) (p decide.Plan) { return p },
	}
}

// A volume may be staged although its pod was deleted meanwhile.
func TestWhatAnUnwantedActionLeavesIsTended(t *testing.T) {
	l, a, _ := tending(released())
	var there []Wanted[string]
	a.kind = wanting(&there)
	l.takeKind(a.kind)
	there = append(there, Wanted[string]{Name: a.asset.Key.Name})
	l.FinishAsset(a, Outcome{Action: removeReleased, Now: noon})
	if all := l.Assets(); len(all) != 1 || all[0] == a || toldAsset(all[0].AssetTrack, noon) != "look" {
		t.Errorf("%v is followed, want what the action has left", all)
	}
}

func TestALateLookAtAnAssetLeavesTheTrackThatTookItsPlace(t *testing.T) {
	l, a, _ := tending(released())
	l.FinishAsset(a, Outcome{Action: removeReleased, Now: noon})
	l.find(a)
	l.dropAsset(a)
	next := &Tended{AssetTrack: NewAssetTrack(files, released()), cancels: map[string]func(){}}
	l.tended[next.asset.Key], l.untended[next.asset.Key] = next, true
	l.Found(a, AssetSighting{Began: l.Stamp(), Look: true}, noon)
	if all := l.Assets(); len(all) != 1 || all[0] != next {
		t.Errorf("%v is followed, want the asset that is wanted now", all)
	}
}

// probeBoard is a board that shows nothing but that it has changed.
type probeBoard struct {
	revision int64
	told     node.Bell
}

func (b *probeBoard) Revision() int64          { return b.revision }
func (b *probeBoard) Changed() <-chan struct{} { return b.told.Heard() }

func TestAKindIsAskedAgainWhenWhatItReadsHasChanged(t *testing.T) {
	web := node.Key{Namespace: "default", Name: "web"}
	for _, c := range []struct {
		name          string
		ofPods, there bool // pods alone make one; there is one
		objects, pods bool // what has changed
		rung          bool
		asked, looked bool
	}{
		{name: "nothing has changed", ofPods: true, there: true},
		{name: "an object", objects: true, asked: true},
		{name: "pods, that make them", ofPods: true, pods: true, asked: true},
		{name: "pods, that may use the one there is", there: true, pods: true, asked: true},
		{name: "pods, and there is none", pods: true},
		{name: "its board", there: true, rung: true, asked: true, looked: true},
	} {
		asked, board := 0, &probeBoard{}
		kind := KindOf[string, bool]{Name: "Probe", OfPods: c.ofPods, Boards: []Board{&probeBoard{}, board}}
		kind.Plan = func(decide.Asset[string, bool]) (p decide.Plan) { return p }
		kind.Wanted = func(pods iter.Seq[*node.Pod]) (wanted []Wanted[string]) {
			asked++
			for pod := range pods {
				wanted = append(wanted, Wanted[string]{Name: pod.Key().Name, Users: []node.Key{pod.Key()}})
			}
			return wanted
		}
		l := NewLoop(nil, node.Site{})
		l.Hands, l.Kinds = &idleHands{}, []Kind{kind}
		if c.there {
			l.tracks[web] = &Tracked{Track: trackOf(upTo(node.ContainerRunning)), Key: web}
			l.takeKind(kind)
			l.Found(l.Assets()[0], AssetSighting{Began: l.Stamp(), Look: true}, noon)
		}
		if asked = 0; c.rung {
			board.revision++
		}
		l.takeAssets(c.objects, c.pods)
		if (asked > 0) != c.asked {
			t.Errorf("%s: it is asked %d times, want that it is: %t", c.name, asked, c.asked)
		}
		if c.there && l.Assets()[0].Next(true, noon).Observe != c.looked {
			t.Errorf("%s: want that the asset is looked at: %t", c.name, c.looked)
		}
	}
}

func TestAnAssetIsSureOfItsUsersOnceEverySourceHasDelivered(t *testing.T) {
	var sure []bool
	kind := KindOf[string, bool]{Name: "Probe"}
	kind.Plan = func(in decide.Asset[string, bool]) (p decide.Plan) {
		sure = append(sure, in.Sure)
		return p
	}
	kind.Wanted = func(iter.Seq[*node.Pod]) []Wanted[string] { return []Wanted[string]{{Name: "one"}} }
	l := NewLoop(nil, node.Site{})
	l.Hands = &idleHands{}
	l.takeKind(kind)
	l.Found(l.Assets()[0], AssetSighting{Began: l.Stamp(), Look: true}, noon)
	l.tend(noon)
	l.Await(map[node.Source]bool{}, nil, noon)
	l.tend(noon)
	if !slices.Equal(sure, []bool{false, true}) {
		t.Errorf("it is decided on with %v, want false, and true after the delivery", sure)
	}
}
