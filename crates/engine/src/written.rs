//! Which generation of the content lies where.

/// What is known of a data set's content after a stage: a few numbers a lane, however many blocks there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    generation: Option<u32>,
}

impl Written {
    /// All of it is of one generation.
    pub fn uniform(generation: u32) -> Self {
        Written { generation: Some(generation) }
    }

    /// Nothing is known of it: nothing can be compared.
    pub fn unknown() -> Self {
        Written::default()
    }

    /// True when all of it is of this generation, so that a stage may begin from there.
    pub fn is_uniform(&self, generation: u32) -> bool {
        self.generation == Some(generation)
    }

    /// True when it is known for at least a part.
    pub fn is_known(&self) -> bool {
        self.generation.is_some()
    }
}
