package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// placementCheck holds the rules of what steers a pod to a node.
type placementCheck struct{ *check }

// scheduling checks what steers a pod to a node. A node alone schedules nothing,
// but a manifest that Kubernetes would refuse should not pass here and fail there.
func (c placementCheck) scheduling(spec *corev1.PodSpec, at *field.Path) {
	c.optionalName(at.Child("nodeName"), spec.NodeName, validation.IsDNS1123Subdomain)
	c.errs = append(c.errs, metav1validation.ValidateLabels(spec.NodeSelector, at.Child("nodeSelector"))...)
	optionalOneOf(c.check, at.Child("preemptionPolicy"), spec.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	if len(spec.SchedulingGates) > 0 && spec.NodeName != "" {
		c.refused(at.Child("nodeName"), "may not be set until all schedulingGates have been cleared")
	}
	gates := map[string]bool{}
	for i, gate := range spec.SchedulingGates {
		path := at.Child("schedulingGates").Index(i)
		c.badEach(path, gate.Name, validation.IsQualifiedName(gate.Name))
		c.unique(path, gates, gate.Name)
	}
	c.tolerations(spec.Tolerations, at.Child("tolerations"))
	if group := spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		c.name(at.Child("schedulingGroup", "podGroupName"), *group.PodGroupName, validation.IsDNS1123Subdomain)
	} else if group != nil {
		c.missing(at.Child("schedulingGroup", "podGroupName"), "")
	}
	c.claims(spec.ResourceClaims, at.Child("resourceClaims"))
	spreads := map[string]bool{}
	for i := range spec.TopologySpreadConstraints {
		s, path := &spec.TopologySpreadConstraints[i], at.Child("topologySpreadConstraints").Index(i)
		c.spread(s, path)
		c.unique(path.Child("{topologyKey, whenUnsatisfiable}"), spreads, fmt.Sprintf("{%s, %s}", s.TopologyKey, s.WhenUnsatisfiable))
	}
	if spec.Affinity != nil {
		c.affinity(spec.Affinity, at.Child("affinity"))
	}
}

func (c placementCheck) tolerations(tolerations []corev1.Toleration, at *field.Path) {
	for i, t := range tolerations {
		path := at.Index(i)
		if t.Key != "" {
			c.badEach(path.Child("key"), t.Key, validation.IsQualifiedName(t.Key))
		} else if t.Operator != corev1.TolerationOpExists {
			c.bad(path.Child("operator"), string(t.Operator), "must be Exists when key is empty, which means any taint")
		}
		switch t.Operator {
		case "", corev1.TolerationOpEqual:
			c.badEach(path.Child("value"), t.Value, validation.IsValidLabelValue(t.Value))
		case corev1.TolerationOpExists:
			if t.Value != "" {
				c.bad(path.Child("value"), t.Value, "must be empty when operator is Exists")
			}
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			c.badEach(path.Child("value"), t.Value, wholeNumber(t.Value))
		default:
			oneOf(c.check, path.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists,
				corev1.TolerationOpLt, corev1.TolerationOpGt)
		}
		if t.Effect != "" {
			oneOf(c.check, path.Child("effect"), t.Effect,
				corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			c.bad(path.Child("effect"), string(t.Effect), "must be NoExecute when tolerationSeconds is set")
		}
	}
}

// wholeNumber wants a number in its usual form: 5, not +5 or 05.
func wholeNumber(value string) []string {
	if n, err := strconv.ParseInt(value, 10, 64); err != nil || strconv.FormatInt(n, 10) != value {
		return []string{"must be a whole number of 64 bits, without leading zeros or a plus"}
	}
	return nil
}

func (c placementCheck) claims(claims []corev1.PodResourceClaim, at *field.Path) {
	seen := map[string]bool{}
	for i, claim := range claims {
		path := at.Index(i)
		c.name(path.Child("name"), claim.Name, validation.IsDNS1123Label)
		c.unique(path.Child("name"), seen, claim.Name)
		c.exactlyOne(path, member{"resourceClaimName", claim.ResourceClaimName != nil},
			member{"resourceClaimTemplateName", claim.ResourceClaimTemplateName != nil})
		if name := claim.ResourceClaimName; name != nil {
			c.name(path.Child("resourceClaimName"), *name, validation.IsDNS1123Subdomain)
		}
		if name := claim.ResourceClaimTemplateName; name != nil {
			c.name(path.Child("resourceClaimTemplateName"), *name, validation.IsDNS1123Subdomain)
		}
	}
}

func (c placementCheck) spread(s *corev1.TopologySpreadConstraint, at *field.Path) {
	if s.MaxSkew <= 0 {
		c.bad(at.Child("maxSkew"), s.MaxSkew, "must be greater than zero")
	}
	c.given(at.Child("topologyKey"), s.TopologyKey)
	oneOf(c.check, at.Child("whenUnsatisfiable"), s.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
	optionalOneOf(c.check, at.Child("nodeAffinityPolicy"), s.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	optionalOneOf(c.check, at.Child("nodeTaintsPolicy"), s.NodeTaintsPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	if s.MinDomains != nil && (*s.MinDomains <= 0 || s.WhenUnsatisfiable != corev1.DoNotSchedule) {
		c.bad(at.Child("minDomains"), *s.MinDomains, "must be greater than zero, and only with whenUnsatisfiable DoNotSchedule")
	}
	c.selector(s.LabelSelector, at.Child("labelSelector"))
	c.matchKeys(s.MatchLabelKeys, s.LabelSelector, at.Child("matchLabelKeys"))
}

// matchKeys checks the keys of labels that a selector takes from the pod itself.
func (c placementCheck) matchKeys(keys []string, selector *metav1.LabelSelector, at *field.Path) {
	if len(keys) > 0 && selector == nil {
		c.refused(at, "must not be specified when labelSelector is not set")
	}
	for i, key := range keys {
		c.badEach(at.Index(i), key, validation.IsQualifiedName(key))
	}
}

func (c placementCheck) selector(s *metav1.LabelSelector, at *field.Path) {
	c.errs = append(c.errs, metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, at)...)
}

func (c placementCheck) affinity(a *corev1.Affinity, at *field.Path) {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if n := a.NodeAffinity; n != nil {
		path := at.Child("nodeAffinity")
		if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			c.nodeSelector(r, path.Child(required))
		}
		for i, term := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			c.between(path.Child(preferred).Index(i).Child("weight"), int64(term.Weight), 1, 100)
			c.nodeTerm(term.Preference, path.Child(preferred).Index(i).Child("preference"))
		}
	}
	if p := a.PodAffinity; p != nil {
		c.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, at.Child("podAffinity", required))
		c.weightedTerms(p.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAffinity", preferred))
	}
	if p := a.PodAntiAffinity; p != nil {
		c.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, at.Child("podAntiAffinity", required))
		c.weightedTerms(p.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAntiAffinity", preferred))
	}
}

func (c placementCheck) nodeSelector(s *corev1.NodeSelector, at *field.Path) {
	terms := at.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		c.missing(terms, "must have at least one node selector term")
	}
	for i, term := range s.NodeSelectorTerms {
		c.nodeTerm(term, terms.Index(i))
	}
}

func (c placementCheck) nodeTerm(term corev1.NodeSelectorTerm, at *field.Path) {
	for i, r := range term.MatchExpressions {
		path := at.Child("matchExpressions").Index(i)
		c.badEach(path.Child("key"), r.Key, validation.IsQualifiedName(r.Key))
		c.nodeRequirement(r, path)
		for j, value := range r.Values {
			c.badEach(path.Child("values").Index(j), value, validation.IsValidLabelValue(value))
		}
	}
	for i, r := range term.MatchFields {
		path := at.Child("matchFields").Index(i)
		oneOf(c.check, path.Child("key"), r.Key, "metadata.name")
		oneOf(c.check, path.Child("operator"), r.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)
		set := r.Operator == corev1.NodeSelectorOpIn || r.Operator == corev1.NodeSelectorOpNotIn
		if set && len(r.Values) != 1 {
			c.missing(path.Child("values"), "must hold exactly one value")
		}
		for j, value := range r.Values {
			c.badEach(path.Child("values").Index(j), value, validation.IsDNS1123Subdomain(value))
		}
	}
}

func (c placementCheck) nodeRequirement(r corev1.NodeSelectorRequirement, at *field.Path) {
	oneOf(c.check, at.Child("operator"), r.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
		corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
	n, values := len(r.Values), at.Child("values")
	switch operator := string(r.Operator); {
	case strings.HasSuffix(operator, "In") && n == 0:
		c.missing(values, "must be specified when operator is In or NotIn")
	case strings.HasSuffix(operator, "Exist") || strings.HasSuffix(operator, "Exists"):
		if n > 0 {
			c.refused(values, "may not be specified when operator is Exists or DoesNotExist")
		}
	case (operator == "Gt" || operator == "Lt") && n != 1:
		c.missing(values, "must hold exactly one value when operator is Lt or Gt")
	}
}

func (c placementCheck) podTerms(terms []corev1.PodAffinityTerm, at *field.Path) {
	for i := range terms {
		c.podTerm(&terms[i], at.Index(i))
	}
}

func (c placementCheck) weightedTerms(terms []corev1.WeightedPodAffinityTerm, at *field.Path) {
	for i := range terms {
		c.between(at.Index(i).Child("weight"), int64(terms[i].Weight), 1, 100)
		c.podTerm(&terms[i].PodAffinityTerm, at.Index(i).Child("podAffinityTerm"))
	}
}

func (c placementCheck) podTerm(term *corev1.PodAffinityTerm, at *field.Path) {
	c.selector(term.LabelSelector, at.Child("labelSelector"))
	c.selector(term.NamespaceSelector, at.Child("namespaceSelector"))
	c.name(at.Child("topologyKey"), term.TopologyKey, validation.IsQualifiedName)
	c.matchKeys(term.MatchLabelKeys, term.LabelSelector, at.Child("matchLabelKeys"))
	c.matchKeys(term.MismatchLabelKeys, term.LabelSelector, at.Child("mismatchLabelKeys"))
	for i, key := range term.MatchLabelKeys {
		if slices.Contains(term.MismatchLabelKeys, key) {
			c.bad(at.Child("matchLabelKeys").Index(i), key, "must not be in mismatchLabelKeys too")
		}
	}
	for i, namespace := range term.Namespaces {
		c.badEach(at.Child("namespaces").Index(i), namespace, validation.IsDNS1123Label(namespace))
	}
}
