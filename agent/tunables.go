package agent

import (
	"errors"
	"fmt"
	"log/slog"

	"nodal/agent/config"
	"nodal/host/tunable"
)

// tune compares the sysctls below root with the values that a node needs. By mode it sets them, fails, or logs those
// that differ.
func tune(root string, mode config.Tunables, log *slog.Logger) error {
	differ, err := tunable.Differ(root)
	switch mode {
	case config.TunablesCheck:
		for _, s := range differ {
			err = errors.Join(err, errors.New(s.String()))
		}
		if err != nil {
			return fmt.Errorf("protectKernelDefaults: sysctls differ from the values that a node needs: %w", err)
		}
		return nil
	case config.TunablesSet:
		for _, s := range differ {
			if failed := tunable.Change(root, s); failed != nil {
				err = errors.Join(err, failed)
				continue
			}
			log.Info("changed a sysctl", "name", s.Name, "from", s.Is, "to", s.Want)
		}
		if err != nil {
			return fmt.Errorf("set the sysctls that a node needs (--kernel-tunables=leave skips this): %w", err)
		}
		return nil
	}
	if len(differ) > 0 {
		log.Info("sysctls differ from the values that a node needs; set them with --kernel-tunables=set",
			"different", differ)
	}
	return nil
}
