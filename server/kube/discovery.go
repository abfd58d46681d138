package kube

import (
	"cmp"
	"iter"
	"net/http"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// of yields the resources of a group and version.
func of(table []*resource, gv schema.GroupVersion) iter.Seq[*resource] {
	return func(yield func(*resource) bool) {
		for _, r := range table {
			if r.GroupVersion() == gv && !yield(r) {
				return
			}
		}
	}
}

// coreDiscovery answers what there is without a group.
func coreDiscovery(table []*resource) http.HandlerFunc {
	versions := metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	return discovery(versions, aggregated(table, func(gv schema.GroupVersion) bool { return gv.Group == "" }))
}

// groupDiscovery answers which groups there are.
func groupDiscovery(table []*resource) http.HandlerFunc {
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	for _, gv := range groupVersions(table) {
		if gv.Group != "" {
			groups.Groups = append(groups.Groups, groupOf(gv))
		}
	}
	return discovery(groups, aggregated(table, func(gv schema.GroupVersion) bool { return gv.Group != "" }))
}

// discovery answers with all groups and resources at once, if the client can read that.
func discovery(plain any, all apidiscovery.APIGroupDiscoveryList) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if !accepts(r, "APIGroupDiscoveryList") {
			writeJSON(w, http.StatusOK, plain)
			return
		}
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		writeJSON(w, http.StatusOK, all)
	}
}

func groupOf(gv schema.GroupVersion) metav1.APIGroup {
	version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}, Name: gv.Group,
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
}

// resourceList lists the resources of a group and version.
func resourceList(gv schema.GroupVersion, in []*resource) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: gv.String()}
	for _, r := range in {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.plural, SingularName: r.singular, Namespaced: r.namespaced, Kind: r.Kind, Verbs: r.verbs(),
			ShortNames: r.short, Categories: r.categories,
		})
		for _, p := range r.parts {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.plural + "/" + p.name, Namespaced: r.namespaced, Kind: p.kind, Verbs: p.verbs, Group: p.of.Group, Version: p.of.Version,
			})
		}
	}
	return list
}

// aggregated lists all resources of some groups.
func aggregated(table []*resource, which func(schema.GroupVersion) bool) apidiscovery.APIGroupDiscoveryList {
	all := apidiscovery.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{APIVersion: "apidiscovery.k8s.io/v2", Kind: "APIGroupDiscoveryList"}}
	for _, gv := range groupVersions(table) {
		if !which(gv) {
			continue
		}
		version := apidiscovery.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
		for r := range of(table, gv) {
			version.Resources = append(version.Resources, discovered(r))
		}
		all.Items = append(all.Items, apidiscovery.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: gv.Group}, Versions: []apidiscovery.APIVersionDiscovery{version},
		})
	}
	return all
}

func discovered(r *resource) apidiscovery.APIResourceDiscovery {
	scope := apidiscovery.ScopeCluster
	if r.namespaced {
		scope = apidiscovery.ScopeNamespace
	}
	found := apidiscovery.APIResourceDiscovery{
		Resource: r.plural, SingularResource: r.singular, Scope: scope, Verbs: r.verbs(), ShortNames: r.short, Categories: r.categories,
		ResponseKind: &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind},
	}
	for _, p := range r.parts {
		of := cmp.Or(p.of, r.GroupVersion())
		found.Subresources = append(found.Subresources, apidiscovery.APISubresourceDiscovery{
			Subresource: p.name, Verbs: p.verbs,
			ResponseKind: &metav1.GroupVersionKind{Group: of.Group, Version: of.Version, Kind: p.kind},
		})
	}
	return found
}
