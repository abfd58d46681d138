package config

import (
	"fmt"
	"path/filepath"

	"nodal/node"
)

// resolveCDI reads which devices of the machine's CDI specs pods can have.
func resolveCDI(o *Options) (c CDI, err error) {
	if c.Offers, err = node.ParseCDIOffers(o.CDIDevices); err != nil {
		return c, fmt.Errorf("--cdi-devices: %w", err)
	}
	for _, dir := range o.CDIDirs {
		if !filepath.IsAbs(dir) {
			return c, fmt.Errorf("--cdi-spec-dirs: %q: must be an absolute path", dir)
		}
	}
	c.Dirs = o.CDIDirs
	return c, nil
}
