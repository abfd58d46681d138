package node

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DRAPlugin is Kubernetes' word for plugins that are drivers of devices which ResourceClaims allocate.
const DRAPlugin = "DRAPlugin"

// FailedPrepareClaims is Kubernetes' reason for an event about a pod whose ResourceClaims cannot be prepared.
// FailedUnprepareClaims is ours: Kubernetes reports nothing.
const (
	FailedPrepareClaims   = "FailedPrepareDynamicResources"
	FailedUnprepareClaims = "FailedUnprepareDynamicResources"
)

// AnnotationClaims brings the ResourceClaims of a pod with its manifest, as they were allocated: a list of DeviceClaim
// in JSON.
const AnnotationClaims = "nodal.node/resource-claims"

// Bounds of what a manifest may bring. A claim of Kubernetes has no more devices.
const (
	mostClaims       = 256
	mostClaimDevices = 64
	mostClaimWord    = 253
)

// DeviceClaim is a ResourceClaim that a pod uses, under the name that the pod has for it: what was allocated, and what
// drivers were asked to do about it.
type DeviceClaim struct {
	Name    string            `json:"Name"`  // in the pod
	Claim   string            `json:"Claim"` // the name of the ResourceClaim, in the namespace of the pod
	UID     types.UID         `json:"UID"`
	Devices []AllocatedDevice `json:"Devices"`
	// Drivers holds what drivers have answered. A driver is listed before it is asked to prepare the claim, until it has
	// unprepared it or another pod uses the claim.
	Drivers map[string]PreparedClaim `json:"Drivers,omitempty"`
}

// AllocatedDevice is one device of a ResourceClaim.
type AllocatedDevice struct {
	Request     string    `json:"Request"` // of the claim, which the device answers
	Driver      string    `json:"Driver"`
	Pool        string    `json:"Pool"`
	Device      string    `json:"Device"`
	AdminAccess bool      `json:"AdminAccess,omitempty"`
	ShareID     types.UID `json:"ShareID,omitempty"` // of a device that several claims share
}

// PreparedClaim holds what a driver has answered for a claim.
type PreparedClaim struct {
	Done    bool             `json:"Done,omitempty"` // the driver has prepared it
	Boot    string           `json:"Boot,omitempty"` // of the machine, since which that holds
	Devices []PreparedDevice `json:"Devices,omitempty"`
}

// Since reports whether a driver has prepared a claim since the machine was booted.
func (p PreparedClaim) Since(boot string) bool { return p.Done && p.Boot == boot }

// PreparedDevice is one device that a driver has prepared.
type PreparedDevice struct {
	Requests []string  `json:"Requests,omitempty"` // of the claim; empty for all
	Pool     string    `json:"Pool"`
	Device   string    `json:"Device"`
	ShareID  types.UID `json:"ShareID,omitempty"`
	CDI      []string  `json:"CDI,omitempty"` // what containers get for it, by the names of CDI
}

// ClaimRef names a ResourceClaim as drivers know it.
type ClaimRef struct {
	Namespace, Name string
	UID             types.UID
}

// AllocatedTo returns the drivers of a claim's devices, in order.
func (c *DeviceClaim) AllocatedTo() []string {
	var drivers []string
	for _, d := range c.Devices {
		drivers = append(drivers, d.Driver)
	}
	slices.Sort(drivers)
	return slices.Compact(drivers)
}

// ClaimsPrepared reports whether all drivers of a pod's claims have prepared them since the machine was booted.
func (p *Pod) ClaimsPrepared(boot string) bool {
	for i := range p.Claims {
		c := &p.Claims[i]
		for _, driver := range c.AllocatedTo() {
			if !c.Drivers[driver].Since(boot) {
				return false
			}
		}
	}
	return true
}

// HoldsClaims reports whether a driver may have prepared a claim for a pod.
func (p *Pod) HoldsClaims() bool {
	return slices.ContainsFunc(p.Claims, func(c DeviceClaim) bool { return len(c.Drivers) > 0 })
}

// ClaimRef names a claim of the pod.
func (p *Pod) ClaimRef(c *DeviceClaim) ClaimRef {
	return ClaimRef{Namespace: p.Object.Namespace, Name: c.Claim, UID: c.UID}
}

// ClaimedCDI returns the names of CDI for the devices of claims that a container gets.
func (p *Pod) ClaimedCDI(c *corev1.Container) (names []string) {
	for _, wanted := range c.Resources.Claims {
		for i := range p.Claims {
			if claim := &p.Claims[i]; claim.Name == wanted.Name {
				names = append(names, claim.cdi(wanted.Request)...)
			}
		}
	}
	return names
}

// cdi returns the names of CDI for the devices of a request, or of all.
func (c *DeviceClaim) cdi(request string) (names []string) {
	for _, driver := range slices.Sorted(maps.Keys(c.Drivers)) {
		for _, d := range c.Drivers[driver].Devices {
			if request == "" || len(d.Requests) == 0 || slices.Contains(d.Requests, request) {
				names = append(names, d.CDI...)
			}
		}
	}
	return names
}

// BringsClaims reports whether a manifest brings its ResourceClaims along.
func BringsClaims(pod *corev1.Pod) bool { return pod.Annotations[AnnotationClaims] != "" }

// ClaimsIn returns the ResourceClaims that a manifest brings along. A claim of the pod that is not among them was not
// made, which Kubernetes allows.
func ClaimsIn(pod *corev1.Pod) ([]DeviceClaim, error) {
	text := pod.Annotations[AnnotationClaims]
	if text == "" {
		return nil, nil
	}
	var claims []DeviceClaim
	if err := json.Unmarshal([]byte(text), &claims); err != nil {
		return nil, fmt.Errorf("read what was allocated: %w", err)
	}
	if len(claims) > mostClaims {
		return nil, fmt.Errorf("it has more than %d claims", mostClaims)
	}
	for i := range claims {
		c := &claims[i]
		c.Drivers = nil // only this node knows what it has asked
		if err := c.check(pod); err != nil {
			return nil, fmt.Errorf("claim %.300q: %w", c.Name, err)
		}
	}
	return claims, nil
}

// check refuses a claim that Kubernetes would not allocate.
func (c *DeviceClaim) check(pod *corev1.Pod) error {
	switch {
	case !slices.ContainsFunc(pod.Spec.ResourceClaims, func(o corev1.PodResourceClaim) bool { return o.Name == c.Name }):
		return fmt.Errorf("the pod has no claim of that name")
	case c.Claim == "" || c.UID == "" || len(c.Claim) > mostClaimWord || len(c.UID) > mostClaimWord:
		return fmt.Errorf("its ResourceClaim has no name or no UID, or one of more than %d bytes", mostClaimWord)
	case len(c.Devices) > mostClaimDevices:
		return fmt.Errorf("it has more than %d devices", mostClaimDevices)
	}
	for _, d := range c.Devices {
		if d.Driver == "" || len(d.Driver) > mostClaimWord {
			return fmt.Errorf("a device has no driver, or one with more than %d bytes in its name", mostClaimWord)
		}
	}
	return nil
}

type (
	// PrepareClaims has the drivers of a pod's claims prepare them. What they answer is recorded.
	PrepareClaims struct{ Boot string }
	// UnprepareClaims has drivers take back what no other pod uses.
	UnprepareClaims struct{}
)

const targetClaims = "claims"

// claimsRest bounds the pauses after which drivers that failed are asked again.
var claimsRest = Rest{time.Second, 20 * time.Second}

// ClaimsTarget names the target of preparing a pod's claims, and of taking them back.
func ClaimsTarget() string { return targetClaims }

func (PrepareClaims) Target() string   { return targetClaims }
func (UnprepareClaims) Target() string { return targetClaims }
func (PrepareClaims) String() string   { return "prepare the devices of resource claims" }
func (UnprepareClaims) String() string { return "unprepare the devices of resource claims" }

// About says that a driver may take its time, and that what else the pod needs goes on meanwhile.
func (PrepareClaims) About() About {
	return About{Place: OnMachine, Nature: Slow, Rest: claimsRest}
}
func (UnprepareClaims) About() About {
	return About{Place: OnMachine, Nature: Slow, Rest: claimsRest}
}
