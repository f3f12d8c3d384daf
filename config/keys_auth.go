// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import "strings"

// AuthConfig holds the keys of the access control of 5.x.
type AuthConfig struct {
	ConfigName  string `def:"null" v4:"!" none:"Java sets it itself, to brokerName"`
	ClusterName string `def:"null" v4:"!" none:"Java sets it itself, to brokerClusterName"`
	// Users and permissions are in config/auth below storePathRootDir.
	AuthConfigPath string `def:"null" v4:"!" none:"Java sets it itself, to config below storePathRootDir" mark:"p"`
	// true: only requests that a known user has signed are handled.
	AuthenticationEnabled  bool   `def:"false" v4:"!"`
	AuthenticationProvider string `def:"null" v4:"!" none:"names a Java class" mark:"p"`
	// Any class name switches the commands for users and permissions on; so do the two switches.
	AuthenticationMetadataProvider string `def:"null" v4:"!" mark:"p"`
	AuthenticationStrategy         string `def:"null" v4:"!" none:"caching strategy of the Java server"`
	// Request codes, separated by commas, that need no credentials.
	AuthenticationWhitelist string `def:"null" v4:"!"`
	// JSON {"username":…,"password":…}: super user created at start if missing.
	InitAuthenticationUser string `def:"null" v4:"!" mark:"rs"`
	// JSON {"accessKey":…,"secretKey":…} of the broker's own clients.
	InnerClientAuthenticationCredentials string `def:"null" v4:"!" mark:"rs"`
	// true: users must be allowed what their requests do. It implies that they are signed.
	AuthorizationEnabled  bool   `def:"false" v4:"!"`
	AuthorizationProvider string `def:"null" v4:"!" none:"names a Java class" mark:"p"`
	// As authenticationMetadataProvider.
	AuthorizationMetadataProvider string `def:"null" v4:"!" mark:"p"`
	AuthorizationStrategy         string `def:"null" v4:"!" none:"caching strategy of the Java server"`
	// Request codes, separated by commas, that are not checked.
	AuthorizationWhitelist string `def:"null" v4:"!"`
	// true: the access rules of 4.x (conf/plain_acl.yml, conf/acl) are made users and permissions at the start; those that are
	// there already stay.
	MigrateAuthFromV1Enabled                 bool `def:"false" v4:"!" mark:"r"`
	UserCacheMaxNum                          int  `def:"1000" v4:"!" none:"size and lifetime of a cache of the Java server"`
	UserCacheExpiredSecond                   int  `def:"600" v4:"!" none:"size and lifetime of a cache of the Java server"`
	UserCacheRefreshSecond                   int  `def:"60" v4:"!" none:"size and lifetime of a cache of the Java server"`
	AclCacheMaxNum                           int  `def:"1000" v4:"!" none:"size and lifetime of a cache of the Java server"`
	AclCacheExpiredSecond                    int  `def:"600" v4:"!" none:"size and lifetime of a cache of the Java server"`
	AclCacheRefreshSecond                    int  `def:"60" v4:"!" none:"size and lifetime of a cache of the Java server"`
	StatefulAuthenticationCacheMaxNum        int  `def:"10000" v4:"!" none:"size and lifetime of a cache of the Java server"`
	StatefulAuthenticationCacheExpiredSecond int  `def:"60" v4:"!" none:"size and lifetime of a cache of the Java server"`
	StatefulAuthorizationCacheMaxNum         int  `def:"10000" v4:"!" none:"size and lifetime of a cache of the Java server"`
	StatefulAuthorizationCacheExpiredSecond  int  `def:"60" v4:"!" none:"size and lifetime of a cache of the Java server"`
}

// KeepsUsers tells whether there are users and permissions: the switches are on, or a provider is named.
func (a *AuthConfig) KeepsUsers() bool {
	return a.AuthenticationEnabled || a.AuthorizationEnabled ||
		strings.TrimSpace(a.AuthenticationMetadataProvider) != "" || strings.TrimSpace(a.AuthorizationMetadataProvider) != ""
}
