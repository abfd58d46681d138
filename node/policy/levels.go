package policy

import (
	"slices"

	"k8s.io/pod-security-admission/policy"
)

// rule is one check of Kubernetes' library in its newest version, and the field that it is about.
type rule struct {
	check policy.CheckPodFn
	field string
}

// rulesOf returns the checks of a level. Some checks of the restricted level take the place
// of one of the baseline.
func rulesOf(level Level) []rule {
	if level != Baseline && level != Restricted {
		return nil
	}
	var chosen []policy.Check
	var replaced []policy.CheckID
	for _, c := range policy.DefaultChecks() {
		if c.Level == Baseline || c.Level == level {
			chosen = append(chosen, c)
			replaced = append(replaced, newest(c).OverrideCheckIDs...)
		}
	}
	var rules []rule
	for _, c := range chosen {
		if !slices.Contains(replaced, c.ID) {
			rules = append(rules, rule{newest(c).CheckPod, fields[c.ID]})
		}
	}
	return rules
}

func newest(c policy.Check) policy.VersionedCheck { return c.Versions[len(c.Versions)-1] }

// fields names the field that each check is about. The details of the check name the containers
// and volumes.
var fields = map[policy.CheckID]string{
	"allowPrivilegeEscalation":   "spec.containers[*].securityContext.allowPrivilegeEscalation",
	"appArmorProfile":            "spec.securityContext.appArmorProfile",
	"capabilities_baseline":      "spec.containers[*].securityContext.capabilities.add",
	"capabilities_restricted":    "spec.containers[*].securityContext.capabilities",
	"hostNamespaces":             "spec",
	"hostPathVolumes":            "spec.volumes[*].hostPath",
	"hostPorts":                  "spec.containers[*].ports[*].hostPort",
	"hostProbesAndHostLifecycle": "spec.containers[*]",
	"privileged":                 "spec.containers[*].securityContext.privileged",
	"procMount":                  "spec.containers[*].securityContext.procMount",
	"procMount_restricted":       "spec.containers[*].securityContext.procMount",
	"restrictedVolumes":          "spec.volumes",
	"runAsNonRoot":               "spec.securityContext.runAsNonRoot",
	"runAsUser":                  "spec.securityContext.runAsUser",
	"seLinuxOptions":             "spec.securityContext.seLinuxOptions",
	"seccompProfile_baseline":    "spec.securityContext.seccompProfile",
	"seccompProfile_restricted":  "spec.securityContext.seccompProfile",
	"sysctls":                    "spec.securityContext.sysctls",
	"windowsHostProcess":         "spec.securityContext.windowsOptions.hostProcess",
}
