package device

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nodal/node/assign"
)

func TestWishesOfAPlugin(t *testing.T) {
	b := newBench(t)
	mute := b.serve("mute.sock", devices("a", "b")...)
	b.use("mute.sock")
	b.until("a b")
	if b.Prefers(gpu) {
		t.Error("a plugin that does not offer it is asked which devices it prefers")
	}
	mute.server.Stop()
	p := b.serve("gpu.sock", devices("a", "b", "c")...)
	asked := make(chan *deviceapi.ContainerPreferredAllocationRequest, 10)
	answer, err := &deviceapi.PreferredAllocationResponse{}, error(nil)
	hangs := false
	p.prefer = func(ctx context.Context, r *deviceapi.ContainerPreferredAllocationRequest) (*deviceapi.PreferredAllocationResponse, error) {
		asked <- r
		if hangs {
			<-ctx.Done()
		}
		return answer, err
	}
	b.use("gpu.sock")
	b.until("a b c")
	choice := assign.Choice{Container: "main", Resource: gpu, Available: []string{"a", "b", "c"}, Must: []string{"c"}, Size: 2}
	if !b.Prefers(gpu) {
		t.Error("a plugin that offers it is not asked which devices it prefers")
	}
	if _, err := b.Prefer(t.Context(), choice); err == nil || !strings.Contains(err.Error(), "it answers for 0 containers") {
		t.Errorf("an answer for no container: %v", err)
	}
	if r := <-asked; strings.Join(r.GetAvailableDeviceIDs(), "+") != "a+b+c" || strings.Join(r.GetMustIncludeDeviceIDs(), "+") != "c" || r.GetAllocationSize() != 2 {
		t.Errorf("the plugin was asked %v", r)
	}
	answer.ContainerResponses = []*deviceapi.ContainerPreferredAllocationResponse{{DeviceIDs: []string{"c", "b"}}}
	if got, err := b.Prefer(t.Context(), choice); err != nil || strings.Join(got, "+") != "c+b" {
		t.Errorf("got %q, %v", got, err)
	}
	err = fmt.Errorf("broken")
	if _, err := b.Prefer(t.Context(), choice); err == nil || !strings.Contains(err.Error(), "broken") || !b.Prefers(gpu) {
		t.Errorf("a plugin that fails: %v, and it is asked again: %t", err, b.Prefers(gpu))
	}
	hangs = true
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.Prefer(ctx, choice); err == nil || b.Prefers(gpu) {
		t.Errorf("a plugin that does not answer: %v, and it is asked again: %t", err, b.Prefers(gpu))
	}
}
