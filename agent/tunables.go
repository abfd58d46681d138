package agent

import (
	"errors"
	"fmt"
	"log/slog"

	"nodal/agent/config"
	"nodal/host/tunable"
)

// tune compares the kernel's settings below root with those that a node wants. By mode it changes them, refuses
// others, or logs the difference.
func tune(root string, mode config.Tunables, log *slog.Logger) error {
	differ, err := tunable.Differ(root)
	switch mode {
	case config.TunablesCheck:
		for _, s := range differ {
			err = errors.Join(err, errors.New(s.String()))
		}
		if err != nil {
			return fmt.Errorf("protectKernelDefaults: this machine's kernel is not set as a node wants it: %w", err)
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
			return fmt.Errorf("set the kernel as a node wants it (--kernel-tunables=leave does not): %w", err)
		}
		return nil
	}
	if len(differ) > 0 {
		log.Info("sysctls differ from the values that a node needs; set them with --kernel-tunables=set",
			"different", differ)
	}
	return nil
}
