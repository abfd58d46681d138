package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"nodal/cluster/retry"
	"nodal/node"
)

const trustResource = "clustertrustbundles"

// trustVersions lists the versions of ClusterTrustBundles, the newest first. They differ in their names alone.
func trustVersions() []schema.GroupVersion {
	var all []schema.GroupVersion
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		all = append(all, schema.GroupVersion{Group: certificatesv1.GroupName, Version: version})
	}
	return all
}

// addTrust makes a scheme know ClusterTrustBundles in all versions.
func addTrust(scheme *runtime.Scheme) error {
	for _, gv := range trustVersions() {
		scheme.AddKnownTypes(gv, &certificatesv1.ClusterTrustBundle{}, &certificatesv1.ClusterTrustBundleList{})
		metav1.AddToGroupVersion(scheme, gv)
	}
	return nil
}

var errNoTrust = errors.New("the API server has no ClusterTrustBundles")

// bundles returns the client for the version of ClusterTrustBundles that the cluster serves. Many clusters serve none:
// no version is on by default before Kubernetes 1.37.
func (c *cluster) bundles(ctx context.Context) (rest.Interface, error) {
	for _, api := range c.trust {
		there := &metav1.APIResourceList{}
		err := api.Get().Do(ctx).Into(there)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("ask for the version of ClusterTrustBundles: %w", err)
		}
		if slices.ContainsFunc(there.APIResources, func(r metav1.APIResource) bool { return r.Name == trustResource }) {
			return api, nil
		}
	}
	return nil, errNoTrust
}

// keepTrust keeps a bundle on the node, or all bundles of a signer. The node chooses from them for each pod.
func (o *objects) keepTrust(ctx context.Context, ref node.ObjectRef) {
	found := source{resource: trustResource, chosen: named(ref.Name), kind: &certificatesv1.ClusterTrustBundle{}}
	if strings.Contains(ref.Name, "/") { // the signer's name
		found.chosen = fields.Set{"spec.signerName": ref.Name}
	}
	retry.Until(ctx, o.log, ref.String()+": cannot put it on the node yet", retry.Most, func(ctx context.Context) (err error) {
		found.api, err = o.cluster.bundles(ctx)
		switch {
		case errors.Is(err, errNoTrust):
			o.note(ctx, ref, absent(ref))
		case err != nil:
			o.noteUnread(ctx, ref, err)
		}
		return err
	})
	if found.api != nil {
		o.follow(ctx, ref, found)
	}
}

// bringTrust has the node hold these bundles of a family, and no others from the cluster.
func (o *objects) bringTrust(ctx context.Context, family node.ObjectRef, found []any) error {
	wanted := map[node.ObjectRef]bool{}
	var wrong []error
	for _, object := range found {
		bundle := object.(*certificatesv1.ClusterTrustBundle)
		wanted[node.ObjectRef{Kind: node.ClusterTrustBundle, Name: bundle.Name}] = true
		wrong = append(wrong, o.node.put(ctx, bundle)) // a bundle of the node's own blocks no other
	}
	return errors.Join(append(wrong, o.node.dropTrust(ctx, family, wanted))...)
}

// dropTrust removes the bundles of a family from the node that came from the cluster, but for some.
func (s *shelf) dropTrust(ctx context.Context, family node.ObjectRef, but map[node.ObjectRef]bool) error {
	since, err := s.now(ctx)
	if err != nil {
		return err
	}
	held, err := s.heldOf(ctx, node.ClusterTrustBundle)
	if err != nil {
		return err
	}
	for ref, object := range held {
		if ref.Family() == family && !but[ref] && broughtHere(object) {
			if err := s.remove(ctx, since, ref); err != nil {
				return err
			}
		}
	}
	return nil
}
