package cri

import (
	"context"
	"encoding/json"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// configuration holds what is read of containerd's configuration.
type configuration struct {
	SandboxImage string   `json:"sandboxImage"` // empty for newer versions, which pin the image
	EnableCDI    *bool    `json:"enableCDI"`    // in 1.7 and in some of 2
	CDISpecDirs  []string `json:"cdiSpecDirs"`  // from 1.7 on
	Containerd   any      `json:"containerd"`   // in all versions
}

// configuration asks containerd for its configuration. Another runtime has none.
func (c *Conn) configuration(ctx context.Context) (configuration, error) {
	reply, err := c.runtime.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
	if err != nil {
		return configuration{}, explain(err, "ask the runtime's configuration")
	}
	return parseConfiguration(reply.GetInfo()["config"]), nil
}

func parseConfiguration(text string) (c configuration) {
	if json.Unmarshal([]byte(text), &c) != nil {
		return configuration{} // another runtime has other contents there
	}
	return c
}

// ignoresCDI reports whether containerd makes containers without their CDI devices. Versions that always give them have
// directories of specs and no switch.
func (c configuration) ignoresCDI() bool {
	if c.EnableCDI != nil {
		return !*c.EnableCDI
	}
	return c.Containerd != nil && c.CDISpecDirs == nil
}

// IgnoresCDI reports whether the runtime says of itself that it makes containers without their CDI devices. One that
// says nothing of them is taken to give them.
func (h *Health) IgnoresCDI(ctx context.Context) (bool, error) {
	ctx, cancel := h.conn.request(ctx)
	defer cancel()
	c, err := h.conn.configuration(ctx)
	return c.ignoresCDI(), err
}
