package image

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestPodsThatStoppedAskingAreForgotten(t *testing.T) {
	r, now := rests{orders: map[order]*rest{}}, time.Now()
	for i := range 1000 {
		r.failed(order{}, types.UID(fmt.Sprint("pod-", i)), errors.New("not found"), now)
		if until, err := r.held(order{}, types.UID(fmt.Sprint("pod-", i)), now); err == nil || !until.After(now) {
			t.Fatalf("pod %d is held until %v, %v; want a pause", i, until, err)
		}
		now = now.Add(time.Minute)
	}
	if got := len(r.orders[order{}].asked); got > 12 {
		t.Errorf("%d pods are remembered that asked once a minute, want those of the last minutes", got)
	}
}
