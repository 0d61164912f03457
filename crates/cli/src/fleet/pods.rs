//! `--kubernetes count=12,image=…,…`: pods in one text, with the keys of the experiment file.

use experiment::Pods;

const KEYS: &str = "count, image, namespace, context, host_network, host_path, claim, pull_policy, share_nodes, \
                    user, cpu, memory, node_selector.NAME or resources.NAME";

/// Parses the flag's pods.
///
/// # Errors
/// One line: what is wrong, and what to write.
pub(super) fn read(text: &str) -> Result<Pods, String> {
    let mut pods = Pods::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)));
        let key = key.replace('-', "_");
        let wrong = |hint: &str| format!("--kubernetes {part}: {hint}");
        let needed = || {
            let value =
                value.filter(|value| !value.is_empty()).ok_or_else(|| wrong("write a value behind ="))?;
            Ok::<String, String>(value.to_owned())
        };
        let yes = || match value {
            None | Some("true" | "yes") => Ok(true),
            Some("false" | "no") => Ok(false),
            Some(_) => Err(wrong("write it alone, or =false")),
        };
        // Label names keep their dashes.
        let name = part
            .split_once('=')
            .map_or(part, |(key, _)| key)
            .split_once('.')
            .map(|(_, name)| name.to_owned());
        match (key.split('.').next().unwrap_or(""), name) {
            ("node_selector", Some(name)) => drop(pods.node_selector.insert(name, needed()?)),
            ("resources", Some(name)) => drop(pods.resources.insert(name, needed()?)),
            ("cpu" | "memory", None) => drop(pods.resources.insert(key.clone(), needed()?)),
            ("count", None) => {
                let count = needed()?.parse().ok().filter(|count| *count > 0);
                pods.count = count.ok_or_else(|| wrong("write a number of pods"))?;
            }
            ("image", None) => pods.image = needed()?,
            ("user", None) => {
                let user = needed()?.parse::<u32>().map_err(|_| wrong("write the user's number"))?;
                pods.user = Some(user);
            }
            ("namespace", None) => pods.namespace = Some(needed()?),
            ("context", None) => pods.context = Some(needed()?),
            ("host_network", None) => pods.host_network = yes()?,
            ("share_nodes", None) => pods.share_nodes = yes()?,
            ("host_path", None) => {
                let path = needed()?;
                if !path.starts_with('/') {
                    return Err(wrong("write an absolute path"));
                }
                pods.host_path = Some(path);
            }
            ("claim", None) => {
                let value = needed()?;
                let (claim, path) =
                    value.split_once(':').filter(|(_, path)| path.starts_with('/')).ok_or_else(|| {
                        wrong("write the claim's name and where it is mounted: claim=data:/data")
                    })?;
                pods.claim = Some((claim.to_owned(), path.to_owned()));
            }
            ("pull_policy", None) => {
                let policy = needed()?;
                if !["Always", "IfNotPresent", "Never"].contains(&policy.as_str()) {
                    return Err(wrong("write Always, IfNotPresent or Never"));
                }
                pods.pull_policy = Some(policy);
            }
            _ => return Err(wrong(&format!("that is none of {KEYS}"))),
        }
    }
    if pods.count == 0 || pods.image.is_empty() {
        return Err(
            "--kubernetes: say how many pods and which image: count=4,image=registry/manometer:1".to_owned()
        );
    }
    Ok(pods)
}
