//! `object-store-access-policies`, and which users have them.

use serde_json::{Value, json};

use super::api::Api;
use super::call::{Call, Failure, Outcome};
use super::page::List;
use crate::objects::POLICIES;

/// A fixed id for a policy that exists on every array.
fn policy_id(name: &str) -> String {
    let number = POLICIES.iter().position(|policy| *policy == name).unwrap_or(0);
    format!("00000000-0000-4000-8000-{number:012}")
}

pub(super) fn list(api: &Api, call: &Call) -> Outcome {
    let one = |name: &&str| {
        let mut item = json!({ "name": name, "id": policy_id(name) });
        if let Some(fields) = item.as_object_mut().filter(|_| call.version.is_2()) {
            fields.insert("enabled".into(), json!(true));
            fields.insert("is_local".into(), json!(true));
            fields.insert("policy_type".into(), json!("object-store-access"));
            fields.insert("rules".into(), json!([]));
        }
        item
    };
    let items = POLICIES.iter().map(one).collect();
    List { call, items, kind: "Policy", page_items: api.page_items, total: None }.answer()
}

/// The members (users) and policies named in a call.
fn named(api: &Api, call: &Call) -> Result<(Vec<String>, Vec<String>), Failure> {
    let query = &call.query;
    let mut users = query.list("member_names");
    let objects = api.read();
    for id in query.list("member_ids") {
        let found = objects.users.iter().find(|(_, user)| user.birth.id == id);
        users.push(
            found.map(|(name, _)| name.clone()).ok_or_else(|| Failure::bad(&id, "User does not exist."))?,
        );
    }
    let mut policies = query.list("policy_names");
    for id in query.list("policy_ids") {
        let found = POLICIES.iter().find(|name| policy_id(name) == id);
        policies.push((*found.ok_or_else(|| Failure::bad(&id, "Policy does not exist."))?).to_owned());
    }
    Ok((users, policies))
}

/// The pairs that a change applies to; both sides must be named.
fn pairs(api: &Api, call: &Call) -> Result<Vec<(String, String)>, Failure> {
    let (users, policies) = named(api, call)?;
    if users.is_empty() || policies.is_empty() {
        return Err(Failure::bad("member_names", "Both a member and a policy must be specified."));
    }
    Ok(users
        .iter()
        .flat_map(|user| policies.iter().map(move |policy| (user.clone(), policy.clone())))
        .collect())
}

fn member(api: &Api, user: &str, policy: &str) -> Value {
    let id = api.read().users.get(user).map(|found| found.birth.id.clone()).unwrap_or_default();
    json!({
        "member": { "name": user, "id": id, "resource_type": "object-store-users" },
        "policy": { "name": policy, "id": policy_id(policy), "resource_type": "object-store-access-policies" },
    })
}

pub(super) fn list_members(api: &Api, call: &Call) -> Outcome {
    let (users, policies) = named(api, call)?;
    let pairs: Vec<(String, String)> = {
        let objects = api.read();
        let all = objects
            .users
            .iter()
            .flat_map(|(name, user)| user.policies.iter().map(move |policy| (name, policy)));
        all.filter(|(user, policy)| {
            (users.is_empty() || users.contains(user)) && (policies.is_empty() || policies.contains(policy))
        })
        .map(|(user, policy)| (user.clone(), policy.clone()))
        .collect()
    };
    let items = pairs.iter().map(|(user, policy)| member(api, user, policy)).collect();
    List { call, items, kind: "Member", page_items: api.page_items, total: None }.answer()
}

pub(super) fn add_members(api: &Api, call: &Call) -> Outcome {
    let pairs = pairs(api, call)?;
    for (user, policy) in &pairs {
        api.write().add_policy(user, policy)?;
    }
    call.changed(pairs.iter().map(|(user, policy)| member(api, user, policy)).collect())
}

pub(super) fn remove_members(api: &Api, call: &Call) -> Outcome {
    for (user, policy) in pairs(api, call)? {
        api.write().remove_policy(&user, &policy)?;
    }
    Ok(None)
}
