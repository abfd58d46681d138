package dra

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	draapi "k8s.io/kubelet/pkg/apis/dra/v1"

	"nodal/node"
)

// callDeadline bounds each call to a driver, as every kubelet has it.
const callDeadline = 45 * time.Second

// Counts measures what drivers do.
type Counts interface {
	// ClaimsCalled measures a call. err is gRPC's.
	ClaimsCalled(driver, method string, err error, took time.Duration)
	// ClaimsHandled measures what was done about all claims of a pod.
	ClaimsHandled(operation string, err error, took time.Duration)
}

// Config says how drivers are found.
type Config struct {
	RegistryDir string
	// Driver returns the plugin of a driver that is registered.
	Driver func(name string) (node.Plugin, bool)
	Counts Counts // may be nil
	// Ignored reports whether the runtime makes containers without their CDI devices. nil if there is no runtime to ask.
	Ignored func(context.Context) (bool, error)
}

// Drivers are the drivers of claims on this node. Its methods may be called from any goroutine.
type Drivers struct {
	Config

	mu   sync.Mutex
	busy map[part]chan struct{} // closed when the part is free
}

// part is a claim at one of its drivers.
type part struct {
	driver string
	claim  types.UID
}

// New returns the drivers of a node.
func New(c Config) *Drivers { return &Drivers{Config: c, busy: map[part]chan struct{}{}} }

// Check returns what is wrong with what a driver says of itself, or nil.
func Check(info node.PluginInfo) error {
	if serviceOf(info.Versions) == "" {
		return fmt.Errorf("invalid supported gRPC versions of DRA driver plugin %s at endpoint %.300s: "+
			"none of services supported by the plugin (%.300q) are supported by the kubelet (%q)",
			info.Name, info.Endpoint, info.Versions, services)
	}
	if info.Endpoint != "" && !filepath.IsAbs(info.Endpoint) {
		return fmt.Errorf("the endpoint %.300q of DRA driver plugin %s is not the path of a socket", info.Endpoint, info.Name)
	}
	return nil
}

// Find fails if a driver is not registered.
func (d *Drivers) Find(driver string) error {
	_, err := d.find(driver)
	return err
}

func (d *Drivers) find(driver string) (node.Plugin, error) {
	p, ok := d.Driver(driver)
	if !ok {
		return node.Plugin{}, fmt.Errorf("DRA driver %s is not registered", driver)
	}
	if p.Info.Endpoint == "" {
		p.Info.Endpoint = filepath.Join(d.RegistryDir, p.Socket.Name)
	}
	return p, nil
}

// Hold waits until nothing else is done about claims at a driver, and returns the function that ends this.
func (d *Drivers) Hold(ctx context.Context, driver string, claims []node.ClaimRef) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callDeadline, errors.New("the driver has not answered for another pod yet"))
	defer cancel()
	var held []part
	release = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, p := range held {
			close(d.busy[p])
			delete(d.busy, p)
		}
	}
	for _, c := range claims {
		p := part{driver, c.UID}
		if err := d.take(ctx, p); err != nil {
			release()
			return nil, fmt.Errorf("wait for ResourceClaim %s at DRA driver %s: %w", c.Name, driver, err)
		}
		held = append(held, p)
	}
	return release, nil
}

// take waits until a part is free, and takes it.
func (d *Drivers) take(ctx context.Context, p part) error {
	for {
		d.mu.Lock()
		free, taken := d.busy[p]
		if !taken {
			d.busy[p] = make(chan struct{})
		}
		d.mu.Unlock()
		if !taken {
			return nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Prepare has a driver prepare claims. It returns the answers for those that are prepared, also beside an error.
func (d *Drivers) Prepare(
	ctx context.Context, driver string, claims []node.ClaimRef,
) (map[types.UID][]node.PreparedDevice, error) {
	said := &draapi.NodePrepareResourcesResponse{}
	asked := &draapi.NodePrepareResourcesRequest{Claims: named(claims)}
	if err := d.call(ctx, driver, "NodePrepareResources", asked, said); err != nil {
		return nil, err
	}
	answers := map[types.UID][]node.PreparedDevice{}
	var wrong error
	note := func(err error) {
		if wrong == nil {
			wrong = err
		}
	}
	for uid, answer := range said.GetClaims() {
		at := slices.IndexFunc(claims, func(c node.ClaimRef) bool { return string(c.UID) == uid })
		if at < 0 {
			note(fmt.Errorf("NodePrepareResources returned result for unknown claim UID %.300s", uid))
			continue
		}
		devices, err := devicesOf(answer)
		if err == nil {
			err = d.given(ctx, devices)
		}
		if err != nil {
			note(fmt.Errorf("NodePrepareResources failed for ResourceClaim %s: %w", claims[at].Name, err))
			continue
		}
		answers[claims[at].UID] = devices
	}
	if missing := len(claims) - len(said.GetClaims()); missing > 0 {
		note(fmt.Errorf("NodePrepareResources skipped %d ResourceClaims", missing))
	}
	return answers, wrong
}

// given fails if the runtime would make containers without some devices, and report no fault.
func (d *Drivers) given(ctx context.Context, devices []node.PreparedDevice) error {
	if d.Ignored == nil || !slices.ContainsFunc(devices, func(p node.PreparedDevice) bool { return len(p.CDI) > 0 }) {
		return nil
	}
	ignored, err := d.Ignored(ctx)
	if err == nil && ignored {
		err = errors.New("the container runtime ignores CDI: set enable_cdi = true in the configuration of containerd 1.7, " +
			"or use the built-in runtime or containerd 2")
	}
	return err
}

// Unprepare has a driver take back claims.
func (d *Drivers) Unprepare(ctx context.Context, driver string, claims []node.ClaimRef) error {
	said := &draapi.NodeUnprepareResourcesResponse{}
	asked := &draapi.NodeUnprepareResourcesRequest{Claims: named(claims)}
	if err := d.call(ctx, driver, "NodeUnprepareResources", asked, said); err != nil {
		return err
	}
	for _, c := range claims {
		answer, ok := said.GetClaims()[string(c.UID)]
		switch {
		case !ok:
			return fmt.Errorf("NodeUnprepareResources skipped ResourceClaim %s", c.Name)
		case answer.GetError() != "":
			return fmt.Errorf("NodeUnprepareResources failed for ResourceClaim %s: %s", c.Name, bare(answer.GetError()))
		}
	}
	return nil
}

// Handled measures what was done about all claims of a pod.
func (d *Drivers) Handled(operation string, err error, took time.Duration) {
	if d.Counts != nil {
		d.Counts.ClaimsHandled(operation, err, took)
	}
}
